//! Where each genotype of a `.bed` stands.

use std::fmt;

/// What a line of the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// All individuals of one variant.
    Variant,
    /// All variants of one individual.
    Individual,
}

impl Major {
    /// The layout whose lines are samples, or variants.
    pub const fn of(by_sample: bool) -> Self {
        if by_sample {
            Self::Individual
        } else {
            Self::Variant
        }
    }
}

/// The bytes before the first line.
pub const HEADER: usize = 3;

/// The first two bytes.
pub const MAGIC: [u8; 2] = [0x6c, 0x1b];

/// The numbers of lines and positions of a `.bed`, which has four positions in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BedLayout {
    /// What a line is.
    pub major: Major,
    /// How many individuals there are.
    pub individuals: usize,
    /// How many variants there are.
    pub variants: usize,
}

impl BedLayout {
    /// The number of lines.
    pub fn lines(&self) -> usize {
        match self.major {
            Major::Variant => self.variants,
            Major::Individual => self.individuals,
        }
    }

    /// The positions of a line.
    pub fn positions(&self) -> usize {
        match self.major {
            Major::Variant => self.individuals,
            Major::Individual => self.variants,
        }
    }

    /// The bytes of a line.
    pub fn stride(&self) -> usize {
        self.positions().div_ceil(4)
    }

    /// The bytes of the file; nothing if no file can be so long.
    pub fn length(&self) -> Option<u64> {
        let lines = self.lines().checked_mul(self.stride())?;
        u64::try_from(lines.checked_add(HEADER)?).ok()
    }

    /// Where a line begins.
    pub fn start(&self, line: usize) -> u64 {
        (HEADER + line * self.stride()) as u64
    }

    /// The bits of a line's last byte that belong to no position, and should be 0.
    pub fn padding(&self) -> u8 {
        match self.positions() % 4 {
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
    fn a_line_ends_with_a_whole_byte() {
        let mut layout = BedLayout {
            major: Major::Variant,
            individuals: 5,
            variants: 3,
        };
        assert_eq!(
            (layout.lines(), layout.positions(), layout.stride()),
            (3, 5, 2)
        );
        assert_eq!((layout.length(), layout.start(2)), (Some(9), 7));
        assert_eq!(layout.padding(), 0b1111_1100);
        layout.major = Major::Individual;
        assert_eq!(
            (layout.lines(), layout.positions(), layout.stride()),
            (5, 3, 1)
        );
        assert_eq!(layout.padding(), 0b1100_0000);
    }

    #[test]
    fn what_no_file_can_hold_has_no_length() {
        let layout = BedLayout {
            major: Major::Variant,
            individuals: usize::MAX,
            variants: 9,
        };
        assert_eq!(layout.length(), None);
    }
}
