//! Tiles of sums, and the instructions that make them.

use std::sync::LazyLock;

/// How a machine sums a tile: some rows of the input by some columns of the output.
///
/// Numbers are read in words of 32 bits, which hold `group` numbers of one row or column.
/// The words of rows lie in chunks: [`WORDS`] of the first row, of the second and so on, then
/// the next chunk. Those of columns lie step by step: a word of each column, then the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int8Tile {
    pub(super) rows: usize,
    /// A multiple of [`COLUMNS`].
    pub(super) columns: usize,
    pub(super) group: usize,
    /// Fills sums (rows, columns) from the words of rows and of columns.
    pub(super) sum: fn(&[u32], &[u32], &mut [i32]),
}

/// Adjacent words of a row.
pub(super) const WORDS: usize = 16;

/// Columns whose sums become floats together.
pub(super) const COLUMNS: usize = 16;

/// Sums of the largest tile.
pub(super) const MAX_TILE_SUMS: usize = 12 * 32;

static CHOSEN: LazyLock<Int8Tile> = LazyLock::new(Int8Tile::of_this_machine);

impl Int8Tile {
    /// The tile of the instruction set that [`seqloom_core::simd`] chose.
    pub(super) fn chosen() -> Self {
        *CHOSEN
    }

    #[cfg(target_arch = "x86_64")]
    fn of_this_machine() -> Self {
        let [vnni_512, avx512, vnni, avx2] = super::x86::offered();
        match seqloom_core::simd::name() {
            "avx512" => vnni_512.or(avx512),
            "avx2" => vnni.or(avx2),
            _ => None,
        }
        .unwrap_or(PORTABLE)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_this_machine() -> Self {
        PORTABLE
    }

    /// Words of so many numbers of a row or a column.
    pub(super) fn steps(&self, numbers: usize) -> usize {
        numbers.div_ceil(self.group)
    }

    /// Words of a tile's rows, which have so many numbers each.
    pub(super) fn words(&self, numbers: usize) -> usize {
        self.steps(numbers).next_multiple_of(WORDS).max(WORDS) * self.rows
    }
}

/// Two products at once of half words, by no instruction of its own.
pub(super) const PORTABLE: Int8Tile = Int8Tile {
    rows: 4,
    columns: COLUMNS,
    group: 2,
    sum: sum_portably,
};

fn sum_portably(rows: &[u32], columns: &[u32], sums: &mut [i32]) {
    let (columns, _) = columns.as_chunks::<COLUMNS>();
    let (sums, _) = sums.as_chunks_mut::<COLUMNS>();
    sums.fill([0; COLUMNS]);
    let chunks = rows.chunks(WORDS * PORTABLE.rows);
    for (rows, columns) in chunks.zip(columns.chunks(WORDS)) {
        for (row, sums) in rows.chunks(WORDS).zip(&mut *sums) {
            row.iter()
                .zip(columns)
                .for_each(|(&x, weights)| add_products(x, weights, sums));
        }
    }
}

/// Adds the products of a word and those of some columns.
#[inline(always)]
fn add_products(x: u32, weights: &[u32; COLUMNS], sums: &mut [i32; COLUMNS]) {
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
