//! What stands at each position of many sequences, in bounded memory.
//!
//! A bin holds one position until a sequence is longer than there are bins;
//! then neighbours are added up and a bin holds two, four, ... Sums are the
//! same in whatever order sequences come.

use seqloom_core::{Error, Ragged, Result};

use seqloom_core::number::as_u64;

/// The most bins.
const MOST: usize = 512;
/// Column 0 counts bytes that are no letters; A is column 1, and case is ignored.
pub const LETTERS: usize = 32;
/// A quality letter is ASCII.
pub const QUALITIES: usize = 128;

/// Counts of letters and qualities by position, and of mean qualities.
#[derive(Clone, Debug)]
pub struct Profile {
    width: usize,
    letters: Vec<[u64; LETTERS]>,
    qualities: Vec<[u64; QUALITIES]>,
    means: [u64; QUALITIES],
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            width: 1,
            letters: Vec::new(),
            qualities: Vec::new(),
            means: [0; QUALITIES],
        }
    }
}

impl Profile {
    /// How many positions a bin holds.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How often each letter stands in each bin.
    pub fn letters(&self) -> &[[u64; LETTERS]] {
        &self.letters
    }

    /// How often each quality letter stands in each bin; nothing for FASTA.
    pub fn qualities(&self) -> &[[u64; QUALITIES]] {
        &self.qualities
    }

    /// How many sequences have each mean quality letter, rounded down.
    pub fn means(&self) -> &[u64; QUALITIES] {
        &self.means
    }

    /// Counts sequences.
    pub fn add(&mut self, sequences: &Ragged<'_>) {
        self.widen(sequences.max_length());
        for sequence in sequences.iter() {
            let width = self.width;
            add_up(&mut self.letters, sequence, width, column);
        }
    }

    /// Counts quality letters.
    pub fn add_qualities(&mut self, qualities: &Ragged<'_>) -> Result<()> {
        if qualities.iter().flatten().any(|letter| !letter.is_ascii()) {
            return Err(Error::argument("a quality letter is ASCII"));
        }
        self.widen(qualities.max_length());
        for quality in qualities.iter().filter(|quality| !quality.is_empty()) {
            let width = self.width;
            add_up(&mut self.qualities, quality, width, usize::from);
            let sum: u64 = quality.iter().copied().map(u64::from).sum();
            let mean = usize::try_from(sum / as_u64(quality.len())).unwrap_or(0);
            if let Some(count) = self.means.get_mut(mean) {
                *count += 1;
            }
        }
        Ok(())
    }

    /// Adds neighbours up until so many positions fit into the bins.
    fn widen(&mut self, positions: usize) {
        while positions > MOST.saturating_mul(self.width) {
            halve(&mut self.letters);
            halve(&mut self.qualities);
            self.width *= 2;
        }
    }
}

/// Which column a letter is counted in.
fn column(letter: u8) -> usize {
    if letter.is_ascii_alphabetic() {
        usize::from(letter & 31)
    } else {
        0
    }
}

fn add_up<const N: usize>(
    bins: &mut Vec<[u64; N]>,
    row: &[u8],
    width: usize,
    column: impl Fn(u8) -> usize,
) {
    let used = row.len().div_ceil(width);
    if bins.len() < used {
        bins.resize(used, [0; N]);
    }
    for (bin, piece) in bins.iter_mut().zip(row.chunks(width)) {
        for &letter in piece {
            if let Some(count) = bin.get_mut(column(letter)) {
                *count += 1;
            }
        }
    }
}

fn halve<const N: usize>(bins: &mut Vec<[u64; N]>) {
    *bins = bins.chunks(2).map(sum).collect();
}

fn sum<const N: usize>(bins: &[[u64; N]]) -> [u64; N] {
    let mut sums = [0; N];
    for bin in bins {
        sums.iter_mut()
            .zip(bin)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

/// The mean score of each row of quality letters, by a table of every letter's
/// score; 0 for a row without letters.
#[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
pub fn means(qualities: &Ragged<'_>, scores: &[f64; 256]) -> Vec<f64> {
    let mean = |row: &[u8]| {
        let score = |letter: &u8| scores.get(usize::from(*letter));
        let sum: f64 = row.iter().filter_map(score).sum();
        sum / row.len().max(1) as f64
    };
    qualities.iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_by_position_in_either_case() {
        let mut profile = Profile::default();
        profile.add(&Ragged::new(b"AcGaT", &[0, 3, 5]).unwrap());
        let at = |position: usize, letter: u8| profile.letters()[position][column(letter)];
        assert_eq!(
            (at(0, b'A'), at(1, b'C'), at(1, b'T'), at(2, b'G')),
            (2, 1, 1, 1)
        );
        assert_eq!(profile.width(), 1);
    }

    #[test]
    fn a_long_sequence_widens_the_bins_and_loses_nothing() {
        let short = vec![b'A'; 3];
        let long = vec![b'C'; 5 * MOST];
        let mut profile = Profile::default();
        profile.add(&Ragged::new(&short, &[0, 3]).unwrap());
        profile.add(&Ragged::new(&long, &[0, 5 * 512]).unwrap());
        let total = |letter: u8| -> u64 {
            profile
                .letters()
                .iter()
                .map(|bin| bin[column(letter)])
                .sum()
        };
        assert_eq!((total(b'A'), total(b'C')), (3, 5 * 512));
        assert_eq!((profile.width(), profile.letters().len()), (8, 320));
        assert_eq!(profile.letters()[0][column(b'C')], 8);
    }

    #[test]
    fn qualities_are_counted_by_position_and_by_mean() {
        let mut profile = Profile::default();
        let rows = Ragged::new(b"II!I", &[0, 2, 2, 4]).unwrap();
        profile.add_qualities(&rows).unwrap();
        assert_eq!(profile.qualities()[0][usize::from(b'I')], 1);
        assert_eq!(profile.means()[usize::from(b'I')], 1);
        assert_eq!(profile.means()[usize::from(b'5')], 1);
    }

    #[test]
    fn the_mean_score_of_no_letters_is_0() {
        let mut scores = [0.0; 256];
        scores[usize::from(b'I')] = 40.0;
        let rows = Ragged::new(b"II!I", &[0, 2, 2, 4]).unwrap();
        assert_eq!(means(&rows, &scores), [40.0, 0.0, 20.0]);
    }
}
