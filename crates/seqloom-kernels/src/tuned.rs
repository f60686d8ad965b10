//! The constants of the kernels that were chosen by timing, and the sizes of a cache line.
//!
//! They were measured on AMD EPYC processors: Zen 3 with AVX2 and Zen 5 with AVX-512. Measure
//! them again for another family of processors, for other cache sizes, and after a change of
//! the loops that use them: `make bench SUITE=products` and `make bench SUITE=kernels`, each
//! also with `SIMD=avx2`. A value may change how sums are grouped, and so the last bits of a
//! result.
//!
//! Names that end with 32 or 16 are for processors with 32 or 16 vector registers. A number
//! is an element of an array, of 4 or 8 bytes.

use std::ops::RangeInclusive;
use std::time::Duration;

// Processors.

/// Bytes of a cache line.
pub(crate) const CACHE_LINE: usize = 64;
/// Single floats of a cache line.
pub(crate) const LINE_NUMBERS: usize = 16;

// Threads.

/// Nanoseconds of work from which threads are woken; to wake one takes about 20,000.
pub(crate) const WAKE_NS: usize = 50_000;
/// The time that an idle helper spins before it sleeps. Python needs up to half a millisecond
/// between two kernels of a step; and the system moves a helper that was woken on the caller's
/// processor to a free one only if it stays awake.
pub(crate) const SPIN_TIME: Duration = Duration::from_millis(1);
/// Numbers of a chunk of elementwise work: half of an L1 cache.
pub(crate) const CHUNK: usize = 4096;
/// Numbers of a tensor that a thread updates at a time.
pub(crate) const ADAMW_PIECE: usize = 16 * CHUNK;
/// Positions whose random words are computed at a time.
pub(crate) const RANDOM_BLOCK: usize = 256;

// Products: tiles and blocks.

/// Rows and registers of columns of a tile.
pub(crate) const TILE_32: (usize, usize) = (8, 3);
/// Rows and registers of columns of a tile. Twelve sums of four by three would leave too few
/// registers for the inputs: the compiler would spill two sums at each step. In WebAssembly a
/// product needs a register of its own, and engines reserve one.
pub(crate) const TILE_16: (usize, usize) = if cfg!(target_family = "wasm") {
    (4, 2)
} else {
    (6, 2)
};
/// Positions of a block of K, at most: a right panel of this length fits in an L1 cache, or
/// arrives from L2 in time.
pub(crate) const MAX_BLOCK_K: usize = 320;
/// Pieces of the output for each thread, so that threads finish at about the same time.
pub(crate) const PRODUCT_PIECES: usize = 2;
/// Bytes of a row whose packed columns are kept for all rows: some megabytes.
pub(crate) const ROW_BYTES: usize = 1 << 13;
/// Bytes of a column whose packed rows fit in an L2 cache.
pub(crate) const BAND_BYTES: usize = 192 * 4;
/// Right panels that are packed and used together, at least.
pub(crate) const MIN_GROUP_PANELS: usize = 3;
/// Right panels that are read for each left one with 32 registers: they fit in an L2 cache.
pub(crate) const GROUP_PANELS: usize = 3;
/// Bytes of right panels that fit in an L1 cache together with a left one.
pub(crate) const GROUP_L1_BYTES: usize = 20 << 10;
/// Positions of K that a right panel is prefetched ahead.
pub(crate) const KERNEL_PREFETCH: usize = 8;

// Products: packing.

/// Panels that a thread packs at a time.
pub(crate) const PACK_PANELS: usize = 4;
/// Adjacent lines that are packed together: some cache lines of each position of K.
pub(crate) const PACK_LINES: usize = 48;
/// Positions of K that adjacent lines are prefetched ahead while they are packed.
pub(crate) const PACK_PREFETCH: usize = 8;
/// Positions that are transposed at a time: a cache line of each line.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_BLOCK: usize = 16;
/// Positions that lines are prefetched ahead while they are transposed.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_PREFETCH: usize = 2 * TRANSPOSE_BLOCK;

// Products of a few lines with many, where nothing or one factor is packed.

/// Lines of the smaller factor for dot products whose sums stay in registers, at most.
pub(crate) const DOTS_MAX_LINES: usize = 4;
/// Left lines for which adjacent right lines are read in place, at most.
pub(crate) const ADJACENT_MAX_ROWS: usize = 6;
/// Positions of K that are summed together: this number of memory pages stays in the TLB.
pub(crate) const PAGES_K: usize = 64;
/// Tiles that adjacent right lines are prefetched ahead.
pub(crate) const ADJACENT_PREFETCH: usize = 2;
/// Lines of the larger factor that a thread takes at a time: a multiple of all tiles, of which
/// the largest has 8 registers of 16 numbers.
pub(crate) const NARROW_CUT: usize = 384;
/// Left lines for which the right factor is read in place, at most. With more, packing the
/// right lines takes less time than transposing the tiles.
pub(crate) const DIRECT_MAX_LEFT_LINES: usize = 48;
/// Right lines for which the left factor is read in place, at most.
pub(crate) const DIRECT_MAX_RIGHT_LINES: usize = 64;
/// The least K for which it pays to transpose each tile at its end.
pub(crate) const DIRECT_MIN_TRANSPOSED_K: usize = 192;
/// Lines of a thread's piece: a multiple of this number, which is one of all tiles.
pub(crate) const DIRECT_STRIPE: usize = 48;
/// Packed numbers of a block of K that stay in an L2 cache.
pub(crate) const DIRECT_BLOCK_NUMBERS: usize = 1 << 17;
/// Positions of a block of K, at least.
pub(crate) const DIRECT_MIN_BLOCK_K: usize = 128;
/// Positions of a block of K, at most.
pub(crate) const DIRECT_MAX_BLOCK_K: usize = 1024;

// Layers of transformers.

/// Bytes of a band of rows that stay in an L2 cache together with panels of weights.
pub(crate) const DENSE_BAND_BYTES: usize = 512 << 10;
/// Rows of a band: a multiple of this number, which is one of the rows of all tiles.
pub(crate) const DENSE_BAND_STEP: usize = 24;
/// Rows of a band, at most: more do not lower the cost of the weights.
pub(crate) const DENSE_MAX_BAND_ROWS: usize = 192;
/// Rows are cut into tiles for the gradient of a norm: the number of tiles, at most.
pub(crate) const NORM_TILES: usize = 32;
/// Rows of a tile for the gradient of a norm, at least.
pub(crate) const NORM_ROWS: usize = 16;

// Attention.

/// Keys of a block, at most. With longer blocks fewer queries fit in the cache together, and
/// all keys and values are packed again for each group of queries.
pub(crate) const ATTENTION_KEYS: usize = 512;
/// Bytes of a block of scores.
pub(crate) const ATTENTION_SCORE_BYTES: usize = 256 << 10;
/// Keys of a tile of scores.
pub(crate) const ATTENTION_TILE_32: usize = 8;
/// Keys of a tile of scores.
pub(crate) const ATTENTION_TILE_16: usize = 6;
/// Registers of queries of a tile of scores.
pub(crate) const ATTENTION_WIDTH: usize = 2;

// Recurrent layers.

/// Sequences that advance together, or steps of fewer sequences whose inputs are multiplied
/// together: what their inputs add to the gates stays in an L2 cache.
pub(crate) const RECURRENT_SEQUENCES: usize = 48;
/// Sequences of a thread for the gradient, at least: each thread packs the weights.
pub(crate) const RECURRENT_GRAD_SEQUENCES: usize = 4;

// Convolutions whose windows are packed, and products with them.

/// Windows that are packed at a time: whole panels of all machines that stay in an L2 cache.
pub(crate) const CONV_STRIP: usize = 144;
/// Windows that are computed together.
pub(crate) const CONV_WINDOWS: usize = 480;
/// Windows that are packed at a time for the gradient by the weight: they stay in an L1 cache.
pub(crate) const CONV_PACK_WINDOWS: usize = 64;
/// Outputs whose gradient by the bias a thread sums at a time.
pub(crate) const CONV_BIAS_GRAD: usize = 16;

// Convolutions that read the input in place.

/// Products of a sum for which the input is read in place, at most; windows along one axis.
pub(crate) const CONV_MAX_PRODUCTS_1D: usize = 160;
/// The same for windows along two axes, which take longer to pack.
pub(crate) const CONV_MAX_PRODUCTS_2D: usize = 640;
/// Windows of a row for which the input is read in place, at least: some registers.
pub(crate) const CONV_MIN_WINDOWS: usize = 16;
/// Rows of the gradient by the weight that use most of a block of sums, and fit in L2.
pub(crate) const CONV_GRAD_OUTPUTS: RangeInclusive<usize> = 3..=48;
/// Windows of a row that are computed at a time: whole blocks of registers of every kind.
pub(crate) const CONV_TILE_WINDOWS: usize = 480;
/// Numbers that these windows read: they fit in an L1 cache together with their weights.
pub(crate) const CONV_TILE_INPUTS: usize = 6144;
/// Pieces of the output for each thread, so that threads finish at about the same time.
pub(crate) const CONV_PIECES: usize = 4;
/// Rows of a block of sums. In WebAssembly a product needs a register of its own, and engines
/// reserve one.
pub(crate) const CONV_TILE_ROWS_16: usize = if cfg!(target_family = "wasm") { 4 } else { 6 };
/// Parts of the samples for the gradient by the weight.
pub(crate) const CONV_GRAD_PARTS: usize = 16;
/// Taps that are computed at a time: twelve sums and their inputs fill sixteen registers.
pub(crate) const CONV_GRAD_TAPS: usize = 6;
/// Registers of outputs that are computed at a time.
pub(crate) const CONV_GRAD_WIDTH: usize = 2;
/// Numbers of a tile of the transposed gradient: half of an L1 cache.
pub(crate) const CONV_GRAD_TILE: usize = 4096;
/// Rows of the gradient that are transposed together: a cache line of single floats.
pub(crate) const CONV_GRAD_ROWS: usize = 16;

// Depthwise convolutions.

/// Registers of positions that are computed at a time: enough to hide the latency of one.
pub(crate) const DEPTHWISE_WIDTH: usize = 8;
/// Taps of the gradient by the weight that are computed at a time: a row of common filters.
pub(crate) const DEPTHWISE_TAPS: usize = 7;
