//! What becomes of letters that are not plain members of an alphabet.

use std::str::FromStr;

use seqloom_core::Error;

/// What an encoder takes beside the members of its alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether ambiguity codes are taken.
    pub codes: bool,
    /// What becomes of lower case.
    pub case: Case,
    /// Whether DNA reads U as T.
    pub rna_as_dna: bool,
    /// What becomes of residues outside the twenty.
    pub rare: Rare,
    /// What becomes of marks that are no residues.
    pub symbols: Symbols,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            codes: true,
            case: Case::Fold,
            rna_as_dna: false,
            rare: Rare::Error,
            symbols: Symbols::StripTerminalStop,
        }
    }
}

/// What becomes of a lower-case letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It counts as its upper-case letter.
    Fold,
    /// It is masked: nothing is known of it.
    Mask,
    /// It is a letter of its own, foreign unless the alphabet holds it.
    Keep,
    /// It is refused.
    Error,
}

/// What becomes of a residue outside the twenty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rare {
    /// It is refused.
    Error,
    /// It is masked: nothing is known of it.
    Zeros,
    /// It counts as X.
    Unknown,
    /// It counts as the residue that stands in for it.
    Reposition,
    /// It is a member, after the twenty.
    Keep,
}

/// What becomes of a mark that is no residue: `*`, `-`, `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// One `*` at the end is taken as absent; all others are refused.
    StripTerminalStop,
    /// All are refused.
    Error,
    /// They are masked: nothing is known of them.
    Zeros,
    /// They are members, after all others.
    Keep,
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [
            ("fold", Self::Fold),
            ("mask", Self::Mask),
            ("keep", Self::Keep),
            ("error", Self::Error),
        ];
        choose("case", name, &all)
    }
}

impl FromStr for Rare {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [
            ("error", Self::Error),
            ("zeros", Self::Zeros),
            ("unknown", Self::Unknown),
            ("replace", Self::Reposition),
            ("keep", Self::Keep),
        ];
        choose("rare", name, &all)
    }
}

impl FromStr for Symbols {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [
            ("strip_terminal_stop", Self::StripTerminalStop),
            ("error", Self::Error),
            ("zeros", Self::Zeros),
            ("keep", Self::Keep),
        ];
        choose("symbols", name, &all)
    }
}

fn choose<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> Result<T, Error> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(known, _)| format!("{known:?}")).collect();
        Error::argument(format!(
            "{what} must be one of {}, got {name:?}",
            names.join(", ")
        ))
    })
}
