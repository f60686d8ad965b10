//! The treatment of characters outside the alphabet of an encoder.

use std::str::FromStr;

use seqloom_core::Error;

/// The characters that an encoder accepts in addition to its alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// True if ambiguity codes are accepted.
    pub codes: bool,
    /// The treatment of lower case.
    pub case: Case,
    /// True if U in DNA is read as T.
    pub rna_as_dna: bool,
    /// The treatment of the amino acids U and O.
    pub rare: Rare,
    /// The treatment of characters that are not residues.
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

/// The treatment of lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Lower case is read as upper case.
    Fold,
    /// Lower case is masked: its channels are 0.
    Mask,
    /// Lower case is not converted: it is invalid unless the alphabet contains it.
    Keep,
    /// Lower case is rejected.
    Error,
}

/// The treatment of amino acids outside the 20 of the alphabet: U and O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rare {
    /// U and O are rejected.
    Error,
    /// U and O are masked: their channels are 0.
    Zeros,
    /// U and O are read as X.
    Unknown,
    /// U is read as C, and O as K.
    Replace,
    /// U and O have channels, after those of the 20.
    Keep,
}

/// The treatment of characters that are not residues: `*`, `-`, `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// One `*` at the end of a sequence is removed; all other symbols are rejected.
    StripTerminalStop,
    /// All symbols are rejected.
    Error,
    /// Symbols are masked: their channels are 0.
    Zeros,
    /// Symbols have channels, after those of the residues.
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
        parse_name("case", name, &all)
    }
}

impl FromStr for Rare {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [
            ("error", Self::Error),
            ("zeros", Self::Zeros),
            ("unknown", Self::Unknown),
            ("replace", Self::Replace),
            ("keep", Self::Keep),
        ];
        parse_name("rare", name, &all)
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
        parse_name("symbols", name, &all)
    }
}

fn parse_name<T: Copy>(argument: &str, name: &str, all: &[(&str, T)]) -> Result<T, Error> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(known, _)| format!("{known:?}")).collect();
        Error::argument(format!(
            "{argument} must be one of {}, got {name:?}",
            names.join(", ")
        ))
    })
}
