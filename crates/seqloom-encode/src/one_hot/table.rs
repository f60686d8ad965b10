//! One verdict for each of the 256 bytes.

use seqloom_core::{Alphabet, Error, Result};

use crate::{Case, Unknown};

/// The byte has a row of its own in [`Table::row`]: it is an ambiguity code.
pub(super) const AMBIGUOUS: u8 = 1;
/// The byte is a lower-case letter that is folded or masked.
pub(super) const LOWER: u8 = 2;
/// The byte is refused.
pub(super) const FOREIGN: u8 = 4;
/// The byte is a `*`: the end of a translation, refused elsewhere.
pub(super) const STOP: u8 = 8;

/// More than any channel: an alphabet has at most the 94 printable letters.
const NO_CHANNEL: u8 = u8::MAX;

/// What each byte becomes.
#[derive(Clone, Debug)]
pub struct Table {
    alphabet: Alphabet,
    unknown: Unknown,
    case: Case,
    verdicts: [u8; 256],
    channels: [u8; 256],
}

impl Table {
    /// The table of an alphabet (by name, or the letters themselves) under a policy.
    pub fn new(alphabet: &str, unknown: Unknown, case: Case) -> Result<Self> {
        let mut table = Self {
            alphabet: Alphabet::new(alphabet)?,
            unknown,
            case,
            verdicts: [FOREIGN; 256],
            channels: [NO_CHANNEL; 256],
        };
        table.check_case()?;
        table.judge();
        Ok(table)
    }

    /// The same, with the policies by name.
    pub fn named(alphabet: &str, unknown: &str, case: &str) -> Result<Self> {
        Self::new(alphabet, unknown.parse()?, case.parse()?)
    }

    /// Letters that the case policy would never let through make no alphabet.
    fn check_case(&self) -> Result<()> {
        let lower = self
            .letters()
            .iter()
            .find(|letter| letter.is_ascii_lowercase());
        match lower.filter(|_| self.case != Case::Keep) {
            None => Ok(()),
            Some(_) => Err(Error::argument(format!(
                "alphabet must be 'dna', 'rna', 'protein', 'iupac' or distinct letters, got {:?}, \
                 whose lower-case letters need case='keep'",
                String::from_utf8_lossy(self.letters())
            ))),
        }
    }

    fn judge(&mut self) {
        let code = match self.unknown {
            Unknown::Error => FOREIGN,
            _ => AMBIGUOUS,
        };
        for (channel, letter) in (0..).zip(self.alphabet.letters().to_vec()) {
            self.admit(letter, 0);
            for form in self.forms(letter) {
                self.channels[usize::from(form)] = channel;
            }
        }
        for &(letter, _) in self.alphabet.ambiguities() {
            self.admit(letter, code);
        }
        if self.alphabet.has_stop() {
            self.verdicts[usize::from(b'*')] = STOP;
        }
    }

    /// Writes the verdict of a letter and of its lower-case form.
    fn admit(&mut self, letter: u8, verdict: u8) {
        self.verdicts[usize::from(letter)] = verdict;
        let lower = letter.to_ascii_lowercase();
        if lower == letter {
            return;
        }
        match self.case {
            Case::Fold => self.verdicts[usize::from(lower)] = verdict | LOWER,
            Case::Mask => self.verdicts[usize::from(lower)] = (verdict & FOREIGN) | LOWER,
            Case::Keep | Case::Error => {}
        }
    }

    /// The number of channels.
    pub fn width(&self) -> usize {
        self.letters().len()
    }

    /// The letters of the channels, in order.
    pub fn letters(&self) -> &[u8] {
        self.alphabet.letters()
    }

    pub(super) fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    pub(super) fn verdict(&self, letter: u8) -> u8 {
        self.verdicts[usize::from(letter)]
    }

    /// The channel of a byte; beyond the last if it has none.
    pub(super) fn channel(&self, letter: u8) -> usize {
        usize::from(self.channels[usize::from(letter)])
    }

    /// Whether an ambiguity code leaves numbers other than 0 and 1.
    pub(super) fn has_fractions(&self) -> bool {
        matches!(self.unknown, Unknown::Uniform | Unknown::Fractional)
            && !self.alphabet.ambiguities().is_empty()
    }

    /// The two bytes that stand for a channel's letter: its upper and, where
    /// case is folded, its lower form.
    pub(super) fn forms(&self, letter: u8) -> [u8; 2] {
        match self.case {
            Case::Fold => [letter, letter.to_ascii_lowercase()],
            _ => [letter, letter],
        }
    }

    /// What an ambiguity code puts into the channel of `member`.
    pub(super) fn share(&self, code: u8, member: u8) -> f64 {
        let all = self.letters();
        let stands_for = match self.unknown {
            Unknown::Uniform => all,
            Unknown::Fractional => self.members(code),
            Unknown::Zeros | Unknown::Error => &[],
        };
        if stands_for.contains(&member) {
            return 1.0 / f64::from(u8::try_from(stands_for.len()).unwrap_or(u8::MAX));
        }
        0.0
    }

    /// The members that an ambiguity code stands for.
    fn members(&self, code: u8) -> &'static [u8] {
        let code = code.to_ascii_uppercase();
        let found = self
            .alphabet
            .ambiguities()
            .iter()
            .find(|(letter, _)| *letter == code);
        found.map_or(&[], |(_, members)| members)
    }

    /// Names the letters that are taken, for an error.
    pub(super) fn expected(&self, found: u8) -> String {
        let letters = String::from_utf8_lossy(self.letters());
        let hint = self
            .hint(found)
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        let codes: Vec<u8> = self
            .alphabet
            .ambiguities()
            .iter()
            .map(|(code, _)| *code)
            .collect();
        let codes = String::from_utf8_lossy(&codes);
        match (codes.is_empty(), self.unknown) {
            (true, _) => format!("one of {letters}{hint}"),
            (_, Unknown::Error) => {
                format!("one of {letters} (unknown='error' refuses {codes}){hint}")
            }
            _ => format!("one of {letters} or a code of {codes}{hint}"),
        }
    }

    /// What the person who meets this letter may want to know.
    fn hint(&self, found: u8) -> Option<&'static str> {
        let upper = found.to_ascii_uppercase();
        if found != upper && self.verdict(upper) & FOREIGN == 0 {
            return Some("case='fold' takes lower case");
        }
        match (self.letters(), upper) {
            (b"ACGT", b'U') => Some("U is a letter of alphabet 'rna'"),
            (b"ACGU", b'T') => Some("T is a letter of alphabet 'dna'"),
            (_, b'*') if self.alphabet.has_stop() => Some("a '*' may only end a sequence"),
            (_, b'U' | b'O') if self.alphabet.has_stop() => Some(
                "U and O have no channel in alphabet 'protein': replace them by C and K, or by X",
            ),
            (_, b'-' | b'.') => Some("gaps are not letters: remove them"),
            _ => None,
        }
    }
}
