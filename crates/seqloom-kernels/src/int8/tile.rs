//! Tiles of sums, and their instruction sets.

use std::sync::LazyLock;

/// The method that computes the sums of a tile: a few input rows by a few output
/// columns.
///
/// Values are read in words of 32 bits, each with `group` values of one row or column.
/// Words of rows are stored in chunks: [`CHUNK_WORDS`] words of the first row, of the second
/// row, and so on. Words of columns are stored step by step: one word of each column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int8Tile {
    pub(super) rows: usize,
    /// The number of columns, a multiple of [`TILE_COLUMNS`].
    pub(super) columns: usize,
    pub(super) group: usize,
    /// The function that fills sums (rows, columns) from the words of rows and columns.
    pub(super) sum: fn(&[u32], &[u32], &mut [i32]),
}

/// The number of adjacent words of a row.
pub(super) const CHUNK_WORDS: usize = 16;

/// The number of columns that are converted to floats together.
pub(super) const TILE_COLUMNS: usize = 16;

/// The number of sums of the largest tile.
pub(super) const MAX_TILE_SUMS: usize = 12 * 32;

static CHOSEN_TILE: LazyLock<Int8Tile> = LazyLock::new(Int8Tile::of_this_machine);

impl Int8Tile {
    /// Returns the tile for the instruction set that [`seqloom_core::simd`] chose.
    pub(super) fn chosen() -> Self {
        *CHOSEN_TILE
    }

    #[cfg(target_arch = "x86_64")]
    fn of_this_machine() -> Self {
        let [vnni_512, avx512, vnni, avx2] = super::x86::supported_tiles();
        match seqloom_core::simd::name() {
            "avx512" => vnni_512.or(avx512),
            "avx2" => vnni.or(avx2),
            _ => None,
        }
        .unwrap_or(PORTABLE_TILE)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_this_machine() -> Self {
        PORTABLE_TILE
    }

    /// Returns the number of words for `numbers` values of a row or column.
    pub(super) fn steps(&self, numbers: usize) -> usize {
        numbers.div_ceil(self.group)
    }

    /// Returns the number of words for the rows of a tile with `numbers` values each.
    pub(super) fn words(&self, numbers: usize) -> usize {
        self.steps(numbers)
            .next_multiple_of(CHUNK_WORDS)
            .max(CHUNK_WORDS)
            * self.rows
    }
}

/// The portable tile, which computes two 16-bit products per word without special
/// instructions.
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

/// Adds the products of a word of a row with the words of adjacent columns.
#[inline(always)]
fn add_products(x: u32, weights: &[u32; TILE_COLUMNS], sums: &mut [i32; TILE_COLUMNS]) {
    let (low, high) = halves(x);
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        let weight = halves(weight);
        *sum += low * weight.0 + high * weight.1;
    }
}

#[inline(always)]
fn halves(word: u32) -> (i32, i32) {
    let word = word.cast_signed();
    (word << 16 >> 16, word >> 16)
}
