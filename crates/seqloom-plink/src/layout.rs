//! The position of each genotype in a `.bed` file.

use std::fmt;

/// The meaning of a row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// A row contains the genotypes of all individuals for one variant.
    Variant,
    /// A row contains the genotypes of one individual for all variants.
    Individual,
}

impl Major {
    /// Returns the layout with one row per individual if `by_sample` is true, else with
    /// one row per variant.
    pub const fn of(by_sample: bool) -> Self {
        if by_sample {
            Self::Individual
        } else {
            Self::Variant
        }
    }
}

/// The number of bytes before the first row.
pub const HEADER_BYTES: usize = 3;

/// The first two bytes of every `.bed` file.
pub const MAGIC_BYTES: [u8; 2] = [0x6c, 0x1b];

/// The dimensions of a `.bed`, which stores four genotypes in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BedLayout {
    /// The meaning of each row: a variant or an individual.
    pub major: Major,
    /// The number of individuals.
    pub individuals: usize,
    /// The number of variants.
    pub variants: usize,
}

impl BedLayout {
    /// Returns the number of rows.
    pub fn lines(&self) -> usize {
        match self.major {
            Major::Variant => self.variants,
            Major::Individual => self.individuals,
        }
    }

    /// Returns the number of genotypes in a row.
    pub fn row_genotypes(&self) -> usize {
        match self.major {
            Major::Variant => self.individuals,
            Major::Individual => self.variants,
        }
    }

    /// Returns the number of bytes in a row.
    pub fn row_bytes(&self) -> usize {
        self.row_genotypes().div_ceil(4)
    }

    /// Returns the size of the file in bytes; `None` if it exceeds `u64`.
    pub fn file_bytes(&self) -> Option<u64> {
        let lines = self.lines().checked_mul(self.row_bytes())?;
        u64::try_from(lines.checked_add(HEADER_BYTES)?).ok()
    }

    /// Returns the offset of a row.
    pub fn row_offset(&self, line: usize) -> u64 {
        (HEADER_BYTES + line * self.row_bytes()) as u64
    }

    /// Returns a mask of the padding bits in the last byte of a row, which should be 0.
    pub fn padding_mask(&self) -> u8 {
        match self.row_genotypes() % 4 {
            0 => 0,
            used => u8::MAX << (2 * used),
        }
    }
}

impl fmt::Display for BedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            individuals,
            variants,
            ..
        } = self;
        write!(
            f,
            "{individuals} individuals (.fam) and {variants} variants (.bim)"
        )
    }
}

impl fmt::Display for Major {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variant => "SNP",
            Self::Individual => "individual",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_padded_to_a_whole_byte() {
        let mut layout = BedLayout {
            major: Major::Variant,
            individuals: 5,
            variants: 3,
        };
        assert_eq!(
            (layout.lines(), layout.row_genotypes(), layout.row_bytes()),
            (3, 5, 2)
        );
        assert_eq!((layout.file_bytes(), layout.row_offset(2)), (Some(9), 7));
        assert_eq!(layout.padding_mask(), 0b1111_1100);
        layout.major = Major::Individual;
        assert_eq!(
            (layout.lines(), layout.row_genotypes(), layout.row_bytes()),
            (5, 3, 1)
        );
        assert_eq!(layout.padding_mask(), 0b1100_0000);
    }

    #[test]
    fn the_size_of_a_file_that_overflows_is_none() {
        let layout = BedLayout {
            major: Major::Variant,
            individuals: usize::MAX,
            variants: 9,
        };
        assert_eq!(layout.file_bytes(), None);
    }
}
