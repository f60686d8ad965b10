//! The columns of the two tables, `.fam` and `.bim`.

use seqloom_core::{Error, Result};

/// The number of columns of a table.
pub const COLUMN_COUNT: usize = 6;

/// One of the two tables of a `.bed`: `.fam` or `.bim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// The `.fam` table of individuals.
    Fam,
    /// The `.bim` table of variants. The file may omit centimorgans, which are then 0.
    Bim,
}

impl TableKind {
    /// Returns the table with this file suffix.
    pub fn of(suffix: &str) -> Result<Self> {
        match suffix {
            "fam" => Ok(Self::Fam),
            "bim" => Ok(Self::Bim),
            _ => Err(Error::argument(format!(
                "expected the suffix fam or bim, got {suffix:?}"
            ))),
        }
    }

    /// Returns the names of the columns.
    pub const fn names(self) -> [&'static str; COLUMN_COUNT] {
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

    /// Returns the index of the column with this name.
    pub fn position(self, name: &str) -> Result<usize> {
        let position = self.names().iter().position(|each| *each == name);
        position.ok_or_else(|| {
            let names = self.names().join(", ");
            Error::argument(format!("expected one of {names}, got {name:?}"))
        })
    }
}
