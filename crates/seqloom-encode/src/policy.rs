//! What becomes of letters that are not plain members of an alphabet.

use std::str::FromStr;

use seqloom_core::Error;

/// What stands in the output for an ambiguity code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Nothing: every channel is 0.
    Zeros,
    /// The same in every channel: one divided by the width.
    Uniform,
    /// One, shared among the letters that the code stands for.
    Fractional,
    /// The code is refused.
    Error,
}

/// What becomes of a lower-case letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It counts as its upper-case letter.
    Fold,
    /// It is masked: every channel is 0.
    Mask,
    /// It is a letter of its own, foreign unless the alphabet holds it.
    Keep,
    /// It is refused.
    Error,
}

impl FromStr for Unknown {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "zeros" => Self::Zeros,
            "uniform" => Self::Uniform,
            "fractional" => Self::Fractional,
            "error" => Self::Error,
            _ => {
                return Err(not_one_of(
                    "unknown",
                    "'zeros', 'uniform', 'fractional' or 'error'",
                    name,
                ));
            }
        })
    }
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "fold" => Self::Fold,
            "mask" => Self::Mask,
            "keep" => Self::Keep,
            "error" => Self::Error,
            _ => {
                return Err(not_one_of(
                    "case",
                    "'fold', 'mask', 'keep' or 'error'",
                    name,
                ));
            }
        })
    }
}

fn not_one_of(what: &str, choices: &str, found: &str) -> Error {
    Error::argument(format!("{what} must be {choices}, got {found:?}"))
}
