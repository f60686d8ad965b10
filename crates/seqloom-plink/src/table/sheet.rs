//! Which of the two tables, and what its columns are called.

use seqloom_core::{Error, Result};

/// How many columns a table has.
pub const COLUMNS: usize = 6;

/// Which of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// Individuals.
    Fam,
    /// Variants. Their centimorgans may be left out: all are 0 then.
    Bim,
}

impl Sheet {
    /// The sheet whose files end in `suffix`.
    pub fn of(suffix: &str) -> Result<Self> {
        match suffix {
            "fam" => Ok(Self::Fam),
            "bim" => Ok(Self::Bim),
            _ => Err(Error::argument(format!(
                "expected the suffix fam or bim, got {suffix:?}"
            ))),
        }
    }

    /// The names of its columns.
    pub const fn names(self) -> [&'static str; COLUMNS] {
        match self {
            Self::Fam => ["fid", "iid", "father", "mother", "sex", "pheno"],
            Self::Bim => [
                "chromosome",
                "sid",
                "cm_position",
                "bp_position",
                "allele_1",
                "allele_2",
            ],
        }
    }

    /// Which column has this name.
    pub fn position(self, name: &str) -> Result<usize> {
        let position = self.names().iter().position(|each| *each == name);
        position.ok_or_else(|| {
            let names = self.names().join(", ");
            Error::argument(format!("expected one of {names}, got {name:?}"))
        })
    }
}
