//! Residue and quality counts by position, in bounded memory.
//!
//! At first, each bin covers one position. If a sequence is too long for the bins,
//! pairs of bins are merged, so that each bin covers twice as many positions. The
//! counts do not depend on the order of the sequences.

use seqloom_core::{Error, Ragged, Result};

use seqloom_core::number::as_u64;

/// The maximum number of bins.
const MAX_BINS: usize = 512;
/// The number of columns of residue counts. Columns 1 to 26 count A to Z in upper and
/// lower case, and column 0 counts other bytes.
pub const RESIDUE_COLUMNS: usize = 32;
/// The number of columns of quality counts, one for each ASCII byte.
pub const QUALITY_COLUMNS: usize = 128;

/// Counts of residues and qualities by position, and of mean qualities.
#[derive(Clone, Debug)]
pub struct Profile {
    width: usize,
    letters: Vec<[u64; RESIDUE_COLUMNS]>,
    qualities: Vec<[u64; QUALITY_COLUMNS]>,
    means: [u64; QUALITY_COLUMNS],
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            width: 1,
            letters: Vec::new(),
            qualities: Vec::new(),
            means: [0; QUALITY_COLUMNS],
        }
    }
}

impl Profile {
    /// Returns the number of positions that each bin covers.
    pub fn bin_width(&self) -> usize {
        self.width
    }

    /// Returns the count of each residue in each bin.
    pub fn residue_counts(&self) -> &[[u64; RESIDUE_COLUMNS]] {
        &self.letters
    }

    /// Returns the count of each quality byte in each bin. For FASTA, the result is
    /// empty.
    pub fn quality_counts(&self) -> &[[u64; QUALITY_COLUMNS]] {
        &self.qualities
    }

    /// Returns the number of sequences with each mean quality, which is rounded down to
    /// a byte.
    pub fn mean_quality_counts(&self) -> &[u64; QUALITY_COLUMNS] {
        &self.means
    }

    /// Adds sequences to the counts.
    pub fn add_sequences(&mut self, sequences: &Ragged<'_>) {
        self.merge_until_fits(sequences.max_length());
        for sequence in sequences.iter() {
            let width = self.width;
            count_row(&mut self.letters, sequence, width, residue_column);
        }
    }

    /// Adds the qualities of sequences to the counts.
    pub fn add_qualities(&mut self, qualities: &Ragged<'_>) -> Result<()> {
        if qualities.iter().flatten().any(|letter| !letter.is_ascii()) {
            return Err(Error::argument("qualities must be ASCII"));
        }
        self.merge_until_fits(qualities.max_length());
        for quality in qualities.iter().filter(|quality| !quality.is_empty()) {
            let width = self.width;
            count_row(&mut self.qualities, quality, width, usize::from);
            let sum: u64 = quality.iter().copied().map(u64::from).sum();
            let mean = usize::try_from(sum / as_u64(quality.len())).unwrap_or(0);
            if let Some(count) = self.means.get_mut(mean) {
                *count += 1;
            }
        }
        Ok(())
    }

    /// Merges pairs of bins until at most [`MAX_BINS`] bins cover all `positions`.
    fn merge_until_fits(&mut self, positions: usize) {
        while positions > MAX_BINS.saturating_mul(self.width) {
            merge_bin_pairs(&mut self.letters);
            merge_bin_pairs(&mut self.qualities);
            self.width *= 2;
        }
    }
}

/// Returns the column in which a residue is counted.
fn residue_column(letter: u8) -> usize {
    if letter.is_ascii_alphabetic() {
        usize::from(letter & 31)
    } else {
        0
    }
}

fn count_row<const N: usize>(
    bins: &mut Vec<[u64; N]>,
    row: &[u8],
    width: usize,
    column: impl Fn(u8) -> usize,
) {
    let used = row.len().div_ceil(width);
    if bins.len() < used {
        bins.resize(used, [0; N]);
    }
    for (bin, positions) in bins.iter_mut().zip(row.chunks(width)) {
        for &letter in positions {
            if let Some(count) = bin.get_mut(column(letter)) {
                *count += 1;
            }
        }
    }
}

fn merge_bin_pairs<const N: usize>(bins: &mut Vec<[u64; N]>) {
    *bins = bins.chunks(2).map(sum_bins).collect();
}

fn sum_bins<const N: usize>(bins: &[[u64; N]]) -> [u64; N] {
    let mut sums = [0; N];
    for bin in bins {
        sums.iter_mut()
            .zip(bin)
            .for_each(|(sum, count)| *sum += count);
    }
    sums
}

/// Returns the mean score of each row of qualities. A table contains the score of each
/// byte. The mean of an empty row is 0.
#[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
pub fn mean_scores(qualities: &Ragged<'_>, scores: &[f64; 256]) -> Vec<f64> {
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
    fn residues_are_counted_by_position_in_either_case() {
        let mut profile = Profile::default();
        profile.add_sequences(&Ragged::new(b"AcGaT", &[0, 3, 5]).unwrap());
        let at = |position: usize, letter: u8| {
            profile.residue_counts()[position][residue_column(letter)]
        };
        assert_eq!(
            (at(0, b'A'), at(1, b'C'), at(1, b'T'), at(2, b'G')),
            (2, 1, 1, 1)
        );
        assert_eq!(profile.bin_width(), 1);
    }

    #[test]
    fn a_long_sequence_merges_bins_and_keeps_all_counts() {
        let short = vec![b'A'; 3];
        let long = vec![b'C'; 5 * MAX_BINS];
        let mut profile = Profile::default();
        profile.add_sequences(&Ragged::new(&short, &[0, 3]).unwrap());
        profile.add_sequences(&Ragged::new(&long, &[0, 5 * 512]).unwrap());
        let total = |letter: u8| -> u64 {
            profile
                .residue_counts()
                .iter()
                .map(|bin| bin[residue_column(letter)])
                .sum()
        };
        assert_eq!((total(b'A'), total(b'C')), (3, 5 * 512));
        assert_eq!(
            (profile.bin_width(), profile.residue_counts().len()),
            (8, 320)
        );
        assert_eq!(profile.residue_counts()[0][residue_column(b'C')], 8);
    }

    #[test]
    fn qualities_are_counted_by_position_and_by_mean() {
        let mut profile = Profile::default();
        let rows = Ragged::new(b"II!I", &[0, 2, 2, 4]).unwrap();
        profile.add_qualities(&rows).unwrap();
        assert_eq!(profile.quality_counts()[0][usize::from(b'I')], 1);
        assert_eq!(profile.mean_quality_counts()[usize::from(b'I')], 1);
        assert_eq!(profile.mean_quality_counts()[usize::from(b'5')], 1);
    }

    #[test]
    fn the_mean_score_of_an_empty_row_is_0() {
        let mut scores = [0.0; 256];
        scores[usize::from(b'I')] = 40.0;
        let rows = Ragged::new(b"II!I", &[0, 2, 2, 4]).unwrap();
        assert_eq!(mean_scores(&rows, &scores), [40.0, 0.0, 20.0]);
    }
}
