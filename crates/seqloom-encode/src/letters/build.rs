//! From an alphabet and a policy to one verdict for each byte.

use seqloom_core::{Alphabet, Error, Result};

use super::expected::Expected;
use super::plain::MemberRuns;
use super::table::{LetterTable, STOP};
use super::verdict::{AMBIGUOUS, FOREIGN, LOWER, RARE, RNA, SYMBOL, is_foreign};
use crate::{Case, Policy, Rare, Symbols};

impl LetterTable {
    /// The letters of an alphabet (by name, or the letters themselves) under a policy.
    pub fn new(alphabet: &str, policy: Policy) -> Result<Self> {
        from_alphabet(alphabet, policy)
    }

    /// Every byte from `first` to `last`, and no other; `expected` names them in an error.
    pub fn range(first: u8, last: u8, expected: &str) -> Self {
        from_range(first, last, expected)
    }
}

fn from_range(first: u8, last: u8, expected: &str) -> LetterTable {
    let mut letters = empty(Expected::new(expected.to_owned()));
    letters.members = (first..=last).collect();
    for byte in first..=last {
        letters.write(byte, byte, 0);
    }
    letters.see_plain(false);
    letters
}

fn from_alphabet(name: &str, policy: Policy) -> Result<LetterTable> {
    let alphabet = Alphabet::new(name)?;
    check(&alphabet, policy)?;
    let mut letters = empty(Expected::new(accepted_letters(&alphabet, policy)));
    letters.members = alphabet.letters().to_vec();
    letters.ambiguities = alphabet.ambiguities();
    letters.strips = policy.symbols == Symbols::StripTerminalStop && alphabet.has_stop();
    letters.admit_members(policy);
    letters.admit_codes(policy);
    letters.admit_rare(&alphabet, policy);
    letters.admit_symbols(&alphabet, policy);
    letters.hint(&alphabet);
    letters.see_plain(policy.case == Case::Fold);
    Ok(letters)
}

fn empty(expected: Expected) -> LetterTable {
    LetterTable {
        members: Vec::new(),
        ambiguities: &[],
        normal: [0; 256],
        verdicts: [FOREIGN; 256],
        plain: MemberRuns::new(|_| false, false),
        strips: false,
        expected,
    }
}

/// Refuses a policy that the alphabet gives no meaning to.
fn check(alphabet: &Alphabet, policy: Policy) -> Result<()> {
    let letters = String::from_utf8_lossy(alphabet.letters());
    if policy.case != Case::Keep && letters.bytes().any(|letter| letter.is_ascii_lowercase()) {
        return Err(Error::argument(format!(
            "alphabet must be 'dna', 'rna', 'protein', 'iupac' or distinct letters, got \
             {letters:?}, whose lower-case letters need case='keep'"
        )));
    }
    let is_dna = letters.contains('T') && !letters.contains('U') && !alphabet.has_stop();
    if policy.rna_as_dna && !is_dna {
        return Err(Error::argument(format!(
            "rna_as_dna=True (--rna-as-dna) reads U as T, which alphabet {letters:?} has no use for"
        )));
    }
    if policy.rare != Rare::Error && alphabet.rare().is_empty() {
        return Err(Error::argument(
            "rare (--rare) is about residues outside the twenty of alphabet 'protein'",
        ));
    }
    let is_default = policy.symbols == Symbols::StripTerminalStop;
    if alphabet.symbols().is_empty() && !is_default {
        return Err(Error::argument(
            "symbols is about alphabets with a name; put them among your own letters",
        ));
    }
    Ok(())
}

/// Describes the letters that are accepted.
fn accepted_letters(alphabet: &Alphabet, policy: Policy) -> String {
    let letters = String::from_utf8_lossy(alphabet.letters());
    let codes = alphabet.ambiguities().iter().map(|(code, _)| *code);
    let codes = String::from_utf8(codes.collect()).unwrap_or_default();
    match (codes.is_empty(), policy.codes) {
        (true, _) => format!("one of {letters}"),
        (_, false) => format!("one of {letters} (unknown='error' refuses {codes})"),
        _ => format!("one of {letters} or a code of {codes}"),
    }
}

impl LetterTable {
    fn write(&mut self, byte: u8, normal: u8, verdict: u64) {
        self.normal[usize::from(byte)] = normal;
        self.verdicts[usize::from(byte)] = verdict;
    }

    /// Writes what a letter and its lower-case form count as.
    fn admit(&mut self, letter: u8, counted: (u8, u64), case: Case) {
        let (normal, verdict) = counted;
        self.write(letter, normal, verdict);
        let lower = letter.to_ascii_lowercase();
        match case {
            _ if lower == letter || is_foreign(verdict) => {}
            Case::Fold => self.write(lower, normal, verdict | LOWER),
            Case::Mask => self.write(lower, 0, LOWER),
            Case::Keep | Case::Error => {}
        }
    }

    fn admit_members(&mut self, policy: Policy) {
        for letter in self.members.clone() {
            self.admit(letter, (letter, 0), policy.case);
        }
        if policy.rna_as_dna {
            self.admit(b'U', (b'T', RNA), policy.case);
        }
    }

    fn admit_codes(&mut self, policy: Policy) {
        for (code, _) in self.ambiguities.iter().filter(|_| policy.codes) {
            self.admit(*code, (*code, AMBIGUOUS), policy.case);
        }
    }

    fn admit_rare(&mut self, alphabet: &Alphabet, policy: Policy) {
        for (letter, stand_in) in alphabet.rare() {
            let normal = match policy.rare {
                Rare::Error => continue,
                Rare::Unknown if !policy.codes => continue,
                Rare::Zeros => 0,
                Rare::Unknown => b'X',
                Rare::Reposition => *stand_in,
                Rare::Keep => self.keep(*letter),
            };
            self.admit(*letter, (normal, RARE), policy.case);
        }
    }

    fn admit_symbols(&mut self, alphabet: &Alphabet, policy: Policy) {
        for symbol in alphabet.symbols() {
            let normal = match policy.symbols {
                Symbols::StripTerminalStop | Symbols::Error => continue,
                Symbols::Zeros => 0,
                Symbols::Keep => self.keep(*symbol),
            };
            self.write(*symbol, normal, SYMBOL);
        }
    }

    /// Makes a member of what the alphabet does not hold.
    fn keep(&mut self, letter: u8) -> u8 {
        self.members.push(letter);
        letter
    }

    fn see_plain(&mut self, folds: bool) {
        let verdicts = self.verdicts;
        self.plain = MemberRuns::new(|byte| verdicts[usize::from(byte)] == 0, folds);
    }

    /// Collects what may help, for each letter that is refused.
    fn hint(&mut self, alphabet: &Alphabet) {
        for byte in 0..=u8::MAX {
            let is_refused = is_foreign(self.verdicts[usize::from(byte)]);
            if let Some(hint) = self.hint_for(byte, alphabet).filter(|_| is_refused) {
                self.expected.hint(byte, hint);
            }
        }
    }

    fn hint_for(&self, found: u8, alphabet: &Alphabet) -> Option<&'static str> {
        let upper = found.to_ascii_uppercase();
        if found != upper && !is_foreign(self.verdicts[usize::from(upper)]) {
            return Some("case='fold' (--case fold, of train and embed) takes lower case");
        }
        let is_rare = alphabet.rare().iter().any(|(letter, _)| *letter == upper);
        match (alphabet.letters(), upper) {
            (b"ACGT", b'U') => Some(
                "U is a letter of alphabet 'rna', or rna_as_dna=True (--rna-as-dna, of train) reads \
                 it as T",
            ),
            (b"ACGU", b'T') => Some("T is a letter of alphabet 'dna'"),
            (b"ACGT", b'E' | b'F' | b'I' | b'L' | b'P' | b'Q') => Some(
                "this looks like protein, but 'dna' is read: give DNA, or alphabet 'protein' \
                 (--alphabet protein, of train); a trained model reads what it was trained on",
            ),
            (b"ACGU", b'E' | b'F' | b'I' | b'L' | b'P' | b'Q') => Some(
                "this looks like protein, but 'rna' is read: give RNA, or alphabet 'protein' \
                 (--alphabet protein, of train); a trained model reads what it was trained on",
            ),
            (_, STOP) if alphabet.has_stop() => Some(
                "a '*' may only end a sequence: symbols='zeros' or 'keep' (--symbols zeros, of \
                 train and embed) takes it anywhere",
            ),
            (_, b'-' | b'.') if alphabet.symbols().is_empty() => {
                Some("gaps are not letters: remove them")
            }
            (_, b'-' | b'.') => Some(
                "gaps are not letters: remove them, or symbols='zeros' or 'keep' (--symbols zeros, \
                 of train and embed) takes them",
            ),
            _ if is_rare => Some(
                "U and O have no channel in alphabet 'protein': rare='replace' (--rare replace, \
                 of train) reads them as C and K, rare='unknown' as X",
            ),
            _ => None,
        }
    }
}
