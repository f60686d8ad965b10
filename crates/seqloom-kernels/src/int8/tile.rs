//! Kernels that compute a tile of int8 products, for several instruction sets.

use std::sync::LazyLock;

/// A kernel that sums the products of a few input rows for a few output columns.
///
/// Inputs are read as 32-bit words. Each word contains `group` values of one row or
/// column. The words of the rows are stored in chunks: [`CHUNK_WORDS`] words of the
/// first row, then of the second row, and so on. The words of the columns are
/// interleaved: the first word of each column, then the second word of each column, and
/// so on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int8Tile {
    pub(super) rows: usize,
    /// The number of columns of a tile, a multiple of [`TILE_COLUMNS`].
    pub(super) columns: usize,
    pub(super) group: usize,
    /// The function that computes the sums (rows, columns) from the words of rows and
    /// columns.
    pub(super) sum: fn(&[u32], &[u32], &mut [i32]),
}

/// The number of words of a row that are adjacent in memory.
pub(super) const CHUNK_WORDS: usize = 16;

/// The number of columns that are converted to floats together.
pub(super) const TILE_COLUMNS: usize = 16;

/// The number of sums in the largest tile of any instruction set.
pub(super) const MAX_TILE_SUMS: usize = 12 * 32;

static CHOSEN_TILE: LazyLock<Int8Tile> = LazyLock::new(Int8Tile::best_supported);

impl Int8Tile {
    /// Returns the tile kernel for the instruction set that [`seqloom_core::simd`]
    /// chose.
    pub(super) fn current() -> Self {
        *CHOSEN_TILE
    }

    #[cfg(target_arch = "x86_64")]
    fn best_supported() -> Self {
        let [vnni_512, avx512, vnni, avx2] = super::x86::supported_tiles();
        match seqloom_core::simd::instruction_set() {
            "avx512" => vnni_512.or(avx512),
            "avx2" => vnni.or(avx2),
            _ => None,
        }
        .unwrap_or(PORTABLE_TILE)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn best_supported() -> Self {
        PORTABLE_TILE
    }

    /// Returns the number of words for `numbers` values of a row or column.
    pub(super) fn word_count(&self, numbers: usize) -> usize {
        numbers.div_ceil(self.group)
    }

    /// Returns the number of words for the rows of a tile that have `numbers` values
    /// each.
    pub(super) fn tile_words(&self, numbers: usize) -> usize {
        self.word_count(numbers)
            .next_multiple_of(CHUNK_WORDS)
            .max(CHUNK_WORDS)
            * self.rows
    }
}

/// The tile kernel for any processor, which computes two 16-bit products per word.
pub(super) const PORTABLE_TILE: Int8Tile = Int8Tile {
    rows: 4,
    columns: TILE_COLUMNS,
    group: 2,
    sum: sum_portably,
};

fn sum_portably(rows: &[u32], columns: &[u32], sums: &mut [i32]) {
    let (columns, _) = columns.as_chunks::<TILE_COLUMNS>();
    let (sums, _) = sums.as_chunks_mut::<TILE_COLUMNS>();
    sums.fill([0; TILE_COLUMNS]);
    let chunks = rows.chunks(CHUNK_WORDS * PORTABLE_TILE.rows);
    for (rows, columns) in chunks.zip(columns.chunks(CHUNK_WORDS)) {
        for (row, sums) in rows.chunks(CHUNK_WORDS).zip(&mut *sums) {
            row.iter()
                .zip(columns)
                .for_each(|(&x, weights)| add_products(x, weights, sums));
        }
    }
}

/// Adds the products of a word of a row and the words of adjacent columns to their
/// sums.
#[inline(always)]
fn add_products(x: u32, weights: &[u32; TILE_COLUMNS], sums: &mut [i32; TILE_COLUMNS]) {
    let (low, high) = split_halves(x);
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        let weight = split_halves(weight);
        *sum += low * weight.0 + high * weight.1;
    }
}

#[inline(always)]
fn split_halves(word: u32) -> (i32, i32) {
    let word = word.cast_signed();
    (word << 16 >> 16, word >> 16)
}
