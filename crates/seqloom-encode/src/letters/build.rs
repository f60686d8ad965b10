//! Builds the character table for an alphabet and a policy.

use seqloom_core::{Alphabet, Error, Result};

use super::expected::ExpectedLetters;
use super::kinds::{
    AMBIGUOUS_KIND, LOWER_CASE_KIND, RARE_KIND, REJECTED_KIND, RNA_KIND, SYMBOL_KIND, is_rejected,
};
use super::plain::ResidueRanges;
use super::table::{LetterTable, STOP_SYMBOL};
use crate::{CasePolicy, Policy, RarePolicy, SymbolPolicy};

impl LetterTable {
    /// Returns the character table for an alphabet, which is a name or a string of
    /// residues.
    pub fn new(alphabet: &str, policy: Policy) -> Result<Self> {
        alphabet_table(alphabet, policy)
    }

    /// Returns a character table that accepts only the bytes `first` to `last`. Error
    /// messages describe these bytes as `expected`.
    pub fn range(first: u8, last: u8, expected: &str) -> Self {
        range_table(first, last, expected)
    }
}

fn range_table(first: u8, last: u8, expected: &str) -> LetterTable {
    let mut letters = empty_table(ExpectedLetters::new(expected.to_owned()));
    letters.members = (first..=last).collect();
    for byte in first..=last {
        letters.set_byte(byte, byte, 0);
    }
    letters.find_plain_residues(false);
    letters
}

fn alphabet_table(name: &str, policy: Policy) -> Result<LetterTable> {
    let alphabet = Alphabet::new(name)?;
    check_policy(&alphabet, policy)?;
    let mut letters = empty_table(ExpectedLetters::new(accepted_letters(&alphabet, policy)));
    letters.members = alphabet.letters().to_vec();
    letters.ambiguities = alphabet.ambiguities();
    letters.strips_stop = policy.symbols == SymbolPolicy::StripTerminalStop && alphabet.has_stop();
    letters.accept_residues(policy);
    letters.accept_ambiguity_codes(policy);
    letters.accept_rare_residues(&alphabet, policy);
    letters.accept_symbols(&alphabet, policy);
    letters.add_hints(&alphabet);
    letters.find_plain_residues(policy.case == CasePolicy::Fold);
    Ok(letters)
}

fn empty_table(expected: ExpectedLetters) -> LetterTable {
    LetterTable {
        members: Vec::new(),
        ambiguities: &[],
        normal: [0; 256],
        kinds: [REJECTED_KIND; 256],
        plain: ResidueRanges::new(|_| false, false),
        strips_stop: false,
        expected,
    }
}

/// Returns an error if the policy does not apply to the alphabet.
fn check_policy(alphabet: &Alphabet, policy: Policy) -> Result<()> {
    let letters = String::from_utf8_lossy(alphabet.letters());
    if policy.case != CasePolicy::Keep && letters.bytes().any(|letter| letter.is_ascii_lowercase())
    {
        return Err(Error::argument(format!(
            "alphabet must be 'dna', 'rna', 'protein', 'iupac' or distinct letters, got \
             {letters:?}, whose lower-case letters need case='keep'"
        )));
    }
    let is_dna = letters.contains('T') && !letters.contains('U') && !alphabet.has_stop();
    if policy.rna_as_dna && !is_dna {
        return Err(Error::argument(format!(
            "rna_as_dna=True (--rna-as-dna) reads U as T; it does not apply to alphabet {letters:?}"
        )));
    }
    if policy.rare != RarePolicy::Error && alphabet.rare_amino_acids().is_empty() {
        return Err(Error::argument("rare (--rare) needs alphabet 'protein'"));
    }
    let is_default = policy.symbols == SymbolPolicy::StripTerminalStop;
    if alphabet.symbols().is_empty() && !is_default {
        return Err(Error::argument(
            "symbols needs a named alphabet; add the symbols to your residues instead",
        ));
    }
    Ok(())
}

/// Describes the accepted characters for error messages.
fn accepted_letters(alphabet: &Alphabet, policy: Policy) -> String {
    let letters = String::from_utf8_lossy(alphabet.letters());
    let codes = alphabet.ambiguities().iter().map(|(code, _)| *code);
    let codes = String::from_utf8(codes.collect()).unwrap_or_default();
    match (codes.is_empty(), policy.codes) {
        (true, _) => format!("one of {letters}"),
        (_, false) => format!("one of {letters} (unknown='error' rejects {codes})"),
        _ => format!("one of {letters} or a code of {codes}"),
    }
}

impl LetterTable {
    fn set_byte(&mut self, byte: u8, normal: u8, kind: u64) {
        self.normal[usize::from(byte)] = normal;
        self.kinds[usize::from(byte)] = kind;
    }

    /// Sets the residue and the kind of a character, and of its lower-case form.
    fn accept_letter(&mut self, letter: u8, counted: (u8, u64), case: CasePolicy) {
        let (normal, kind) = counted;
        self.set_byte(letter, normal, kind);
        let lower = letter.to_ascii_lowercase();
        match case {
            _ if lower == letter || is_rejected(kind) => {}
            CasePolicy::Fold => self.set_byte(lower, normal, kind | LOWER_CASE_KIND),
            CasePolicy::Mask => self.set_byte(lower, 0, LOWER_CASE_KIND),
            CasePolicy::Keep | CasePolicy::Error => {}
        }
    }

    fn accept_residues(&mut self, policy: Policy) {
        for letter in self.members.clone() {
            self.accept_letter(letter, (letter, 0), policy.case);
        }
        if policy.rna_as_dna {
            self.accept_letter(b'U', (b'T', RNA_KIND), policy.case);
        }
    }

    fn accept_ambiguity_codes(&mut self, policy: Policy) {
        for (code, _) in self.ambiguities.iter().filter(|_| policy.codes) {
            self.accept_letter(*code, (*code, AMBIGUOUS_KIND), policy.case);
        }
    }

    fn accept_rare_residues(&mut self, alphabet: &Alphabet, policy: Policy) {
        for (letter, stand_in) in alphabet.rare_amino_acids() {
            let normal = match policy.rare {
                RarePolicy::Error => continue,
                RarePolicy::Unknown if !policy.codes => continue,
                RarePolicy::Zeros => 0,
                RarePolicy::Unknown => b'X',
                RarePolicy::Replace => *stand_in,
                RarePolicy::Keep => self.add_residue(*letter),
            };
            self.accept_letter(*letter, (normal, RARE_KIND), policy.case);
        }
    }

    fn accept_symbols(&mut self, alphabet: &Alphabet, policy: Policy) {
        for symbol in alphabet.symbols() {
            let normal = match policy.symbols {
                SymbolPolicy::StripTerminalStop | SymbolPolicy::Error => continue,
                SymbolPolicy::Zeros => 0,
                SymbolPolicy::Keep => self.add_residue(*symbol),
            };
            self.set_byte(*symbol, normal, SYMBOL_KIND);
        }
    }

    /// Adds a residue with a channel to the table.
    fn add_residue(&mut self, letter: u8) -> u8 {
        self.members.push(letter);
        letter
    }

    fn find_plain_residues(&mut self, folds: bool) {
        let kinds = self.kinds;
        self.plain = ResidueRanges::new(|byte| kinds[usize::from(byte)] == 0, folds);
    }

    /// Adds a hint to the error for each rejected character.
    fn add_hints(&mut self, alphabet: &Alphabet) {
        for byte in 0..=u8::MAX {
            let is_rejected_byte = is_rejected(self.kinds[usize::from(byte)]);
            if let Some(hint) = self.hint(byte, alphabet).filter(|_| is_rejected_byte) {
                self.expected.add_hint(byte, hint);
            }
        }
    }

    fn hint(&self, found: u8, alphabet: &Alphabet) -> Option<&'static str> {
        let upper = found.to_ascii_uppercase();
        if found != upper && !is_rejected(self.kinds[usize::from(upper)]) {
            return Some("case='fold' (--case fold, of train and embed) accepts lower case");
        }
        let is_rare = alphabet
            .rare_amino_acids()
            .iter()
            .any(|(letter, _)| *letter == upper);
        match (alphabet.letters(), upper) {
            (b"ACGT", b'U') => Some(
                "U needs alphabet 'rna', or rna_as_dna=True (--rna-as-dna, of train), which reads it as T",
            ),
            (b"ACGU", b'T') => Some("T needs alphabet 'dna'"),
            (b"ACGT", b'E' | b'F' | b'I' | b'L' | b'P' | b'Q') => Some(
                "this looks like protein, but 'dna' is read: pass DNA, or alphabet 'protein' \
                 (--alphabet protein, of train); a trained model accepts only its own alphabet",
            ),
            (b"ACGU", b'E' | b'F' | b'I' | b'L' | b'P' | b'Q') => Some(
                "this looks like protein, but 'rna' is read: pass RNA, or alphabet 'protein' \
                 (--alphabet protein, of train); a trained model accepts only its own alphabet",
            ),
            (_, STOP_SYMBOL) if alphabet.has_stop() => Some(
                "'*' is accepted only at the end of a sequence; symbols='zeros' or 'keep' (--symbols \
                 zeros, of train and embed) accepts it anywhere",
            ),
            (_, b'-' | b'.') if alphabet.symbols().is_empty() => {
                Some("gaps are not residues: remove them")
            }
            (_, b'-' | b'.') => Some(
                "gaps are not residues: remove them, or accept them with symbols='zeros' or 'keep' \
                 (--symbols zeros, of train and embed)",
            ),
            _ if is_rare => Some(
                "U and O have no channel in alphabet 'protein': rare='replace' (--rare replace, \
                 of train) reads them as C and K, rare='unknown' as X",
            ),
            _ => None,
        }
    }
}
