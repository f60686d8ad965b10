//! The conversion of characters that are not in the alphabet of an encoder.

use std::str::FromStr;

use seqloom_core::Error;

/// The characters that an encoder accepts in addition to its alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// True if ambiguity codes are accepted.
    pub codes: bool,
    /// The conversion of lower-case characters.
    pub case: CasePolicy,
    /// True if U in DNA is read as T.
    pub rna_as_dna: bool,
    /// The conversion of the amino acids U and O.
    pub rare: RarePolicy,
    /// The conversion of characters that are not residues.
    pub symbols: SymbolPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            codes: true,
            case: CasePolicy::Fold,
            rna_as_dna: false,
            rare: RarePolicy::Error,
            symbols: SymbolPolicy::StripTerminalStop,
        }
    }
}

/// The conversion of lower-case characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasePolicy {
    /// Lower-case characters are read as upper case.
    Fold,
    /// Lower-case residues are masked: all their channels are 0.
    Mask,
    /// Lower-case characters are not converted, and are invalid unless the alphabet
    /// contains them.
    Keep,
    /// Lower-case characters are rejected.
    Error,
}

/// The conversion of the amino acids U and O, which are not among the 20 of the
/// alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RarePolicy {
    /// U and O are rejected.
    Error,
    /// U and O are masked: all their channels are 0.
    Zeros,
    /// U and O are read as X.
    Unknown,
    /// U is read as C, and O as K.
    Replace,
    /// U and O have separate channels, after the channels of the 20 amino acids.
    Keep,
}

/// The conversion of characters that are not residues: `*`, `-`, `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolPolicy {
    /// One `*` at the end of a sequence is removed; all other symbols are rejected.
    StripTerminalStop,
    /// All symbols are rejected.
    Error,
    /// Symbols are masked: all their channels are 0.
    Zeros,
    /// Symbols have separate channels, after the channels of the residues.
    Keep,
}

impl FromStr for CasePolicy {
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

impl FromStr for RarePolicy {
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

impl FromStr for SymbolPolicy {
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
