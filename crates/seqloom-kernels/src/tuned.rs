//! Constants of the kernels that were chosen by timing, and the sizes of a cache line.
//!
//! The constants were measured on AMD EPYC processors: Zen 3 with AVX2 and Zen 5 with
//! AVX-512. For another processor family, other cache sizes or changed loops, run `make
//! bench SUITE=products` and `make bench SUITE=kernels`, each also with `SIMD=avx2`.
//! Changing a constant may change the order of sums, and so the last bits of a result.
//!
//! Names that end with 32 or 16 are for processors with 32 or 16 vector registers.

use std::ops::RangeInclusive;
use std::time::Duration;

// Processors

/// The size of a cache line in bytes.
pub(crate) const CACHE_LINE: usize = 64;
/// The number of single-precision floats in a cache line.
pub(crate) const CACHE_LINE_FLOATS: usize = 16;

// Threads

/// The least work in nanoseconds for which threads are woken. Waking a thread takes
/// about 20,000 ns.
pub(crate) const WAKE_NS: usize = 50_000;
/// The time that an idle thread spins before it sleeps. Python needs up to half a
/// millisecond between two kernels of a step. A thread that was woken on the processor
/// of its caller is moved to a free processor only if the thread stays awake.
pub(crate) const SPIN_TIME: Duration = Duration::from_millis(1);
/// The number of values in a chunk of elementwise work: half of an L1 cache.
pub(crate) const CHUNK_VALUES: usize = 4096;
/// The number of values of a tensor that a thread updates at a time.
pub(crate) const ADAMW_CHUNK: usize = 16 * CHUNK_VALUES;
/// The number of random words that are computed at a time.
pub(crate) const RANDOM_WORDS: usize = 256;

// Products: tiles and blocks

/// The rows of a tile, and the registers of its columns.
pub(crate) const TILE_32: (usize, usize) = (8, 3);
/// The number of rows of a tile, and the number of registers of its columns. 4 x 3 sums
/// would leave too few registers for the inputs: the compiler would spill two sums at
/// each step. In WebAssembly each product needs an additional register, and engines
/// reserve another register.
pub(crate) const TILE_16: (usize, usize) = if cfg!(target_family = "wasm") {
    (4, 2)
} else {
    (6, 2)
};
/// The largest number of positions of a block of K. A right panel of this length fits
/// in an L1 cache, or is prefetched from the L2 cache in time.
pub(crate) const MAX_BLOCK_K: usize = 320;
/// The number of output blocks per thread. Several blocks let threads finish at about
/// the same time.
pub(crate) const PRODUCT_BLOCKS_PER_THREAD: usize = 2;
/// Bytes of an output row that are computed at a time. The packed columns for this range
/// are kept for all rows, and need a few megabytes.
pub(crate) const KEPT_ROW_BYTES: usize = 1 << 13;
/// The size of a column in bytes for which packed rows fit in an L2 cache.
pub(crate) const BAND_BYTES: usize = 192 * 4;
/// The least number of right panels that are packed and used together.
pub(crate) const MIN_GROUP_PANELS: usize = 3;
/// The number of right panels for each left panel with 32 registers: they fit in an L2
/// cache.
pub(crate) const GROUP_PANELS: usize = 3;
/// The bytes of right panels that fit in an L1 cache together with a left panel.
pub(crate) const GROUP_L1_BYTES: usize = 20 << 10;
/// The number of positions of K that a right panel is prefetched ahead.
pub(crate) const KERNEL_PREFETCH: usize = 8;

// Products: packing

/// The number of panels that a thread packs at a time.
pub(crate) const PACK_PANELS: usize = 4;
/// The number of adjacent lines that are packed together: some cache lines of each
/// position of K.
pub(crate) const PACK_LINES: usize = 48;
/// The number of positions of K that adjacent lines are prefetched ahead while they are
/// packed.
pub(crate) const PACK_PREFETCH: usize = 8;
/// The number of positions that are transposed at a time: a cache line of each line.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_BLOCK: usize = 16;
/// The number of positions that lines are prefetched ahead while they are transposed.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_PREFETCH: usize = 2 * TRANSPOSE_BLOCK;

// Products of a matrix with few lines and one with many; at most one of them is packed

/// The largest number of lines of the smaller matrix for dot products with sums in
/// registers.
pub(crate) const DOTS_MAX_LINES: usize = 4;
/// The largest number of left lines for which adjacent right lines are read in place.
pub(crate) const ADJACENT_MAX_ROWS: usize = 6;
/// The number of positions of K that are summed together, so that their memory pages
/// remain in the TLB.
pub(crate) const PAGES_K: usize = 64;
/// The number of tiles that adjacent right lines are prefetched ahead.
pub(crate) const ADJACENT_PREFETCH: usize = 2;
/// The number of lines of the larger matrix that a thread processes at a time: a
/// multiple of all tile sizes. The largest tile has 8 registers of 16 values.
pub(crate) const NARROW_LINES: usize = 384;
/// The largest number of left lines for which the right matrix is read in place. With
/// more left lines, packing the right matrix takes less time than transposing the
/// tiles.
pub(crate) const DIRECT_MAX_LEFT_LINES: usize = 48;
/// The largest number of right lines for which the left matrix is read in place.
pub(crate) const DIRECT_MAX_RIGHT_LINES: usize = 64;
/// The least K for which it pays to transpose each tile at its end.
pub(crate) const DIRECT_MIN_TRANSPOSED_K: usize = 192;
/// The number of lines of a thread's block is a multiple of this, which is a multiple
/// of all tile sizes.
pub(crate) const DIRECT_STRIPE_LINES: usize = 48;
/// The number of packed values of a block of K that fit in an L2 cache.
pub(crate) const DIRECT_BLOCK_VALUES: usize = 1 << 17;
/// The least number of positions of a block of K.
pub(crate) const DIRECT_MIN_BLOCK_K: usize = 128;
/// The largest number of positions of a block of K.
pub(crate) const DIRECT_MAX_BLOCK_K: usize = 1024;

// Layers of transformers

/// The bytes of a band of rows that fit in an L2 cache together with panels of weights.
pub(crate) const DENSE_BAND_BYTES: usize = 512 << 10;
/// The number of rows of a band is a multiple of this, which is a multiple of the rows
/// of all tiles.
pub(crate) const DENSE_BAND_STEP: usize = 24;
/// The largest number of rows of a band; more rows do not reduce the time to read the
/// weights.
pub(crate) const DENSE_MAX_BAND_ROWS: usize = 192;
/// The largest number of tiles of rows for the gradient of a norm.
pub(crate) const NORM_TILES: usize = 32;
/// The least number of rows of a tile for the gradient of a norm.
pub(crate) const NORM_ROWS: usize = 16;

// Attention

/// The largest number of keys of a block. With longer blocks, fewer queries fit in the
/// cache together, and all keys and values are packed again for each group of queries.
pub(crate) const ATTENTION_KEYS: usize = 512;
/// The bytes of a block of scores.
pub(crate) const ATTENTION_SCORE_BYTES: usize = 256 << 10;
/// The number of keys in a tile of scores.
pub(crate) const ATTENTION_TILE_32: usize = 8;
/// The number of keys in a tile of scores.
pub(crate) const ATTENTION_TILE_16: usize = 6;
/// The number of registers of queries in a tile of scores.
pub(crate) const ATTENTION_WIDTH: usize = 2;

// Recurrent layers

/// The number of sequences that are advanced together or, with fewer sequences, the
/// number of steps whose inputs are multiplied together. The input part of the gates
/// stays in an L2 cache.
pub(crate) const RECURRENT_SEQUENCES: usize = 48;
/// The least number of sequences of a thread in the backward pass, because each thread
/// packs the weights.
pub(crate) const RECURRENT_GRAD_MIN_SEQUENCES: usize = 4;

// Convolutions with packed windows, and products with windows

/// The number of windows that are packed at a time: full panels for all processors,
/// which fit in an L2 cache.
pub(crate) const CONV_STRIP_WINDOWS: usize = 144;
/// The number of windows that are computed together.
pub(crate) const CONV_BLOCK_WINDOWS: usize = 480;
/// The number of windows that are packed at a time for the weight gradient: they fit in
/// an L1 cache.
pub(crate) const CONV_PACK_WINDOWS: usize = 64;
/// The number of outputs with a bias gradient that a thread sums at a time.
pub(crate) const CONV_BIAS_SUMS: usize = 16;

// Convolutions that read the input in place

/// The largest number of products of a sum for which the input is read in place, for
/// windows along one axis.
pub(crate) const CONV_MAX_PRODUCTS_1D: usize = 160;
/// The largest number of products of a sum for which the input is read in place, for
/// windows along two axes. The limit is larger than for one axis, because packing
/// windows along two axes takes longer.
pub(crate) const CONV_MAX_PRODUCTS_2D: usize = 640;
/// The least number of windows of a row for which the input is read in place: enough to
/// fill a few registers.
pub(crate) const CONV_MIN_WINDOWS: usize = 16;
/// The numbers of rows of the weight gradient for which a block of sums is nearly full
/// and fits in an L2 cache.
pub(crate) const CONV_GRAD_OUTPUTS: RangeInclusive<usize> = 3..=48;
/// The number of windows of a row that are computed at a time: full blocks of registers
/// of every kind.
pub(crate) const CONV_TILE_WINDOWS: usize = 480;
/// The number of values that these windows read, such that they fit in an L1 cache
/// together with their weights.
pub(crate) const CONV_TILE_INPUTS: usize = 6144;
/// The number of output blocks per thread. Several blocks let threads finish at about
/// the same time.
pub(crate) const CONV_BLOCKS: usize = 4;
/// The number of rows of a block of sums. In WebAssembly each product needs an
/// additional register, and engines reserve another register.
pub(crate) const CONV_TILE_ROWS_16: usize = if cfg!(target_family = "wasm") { 4 } else { 6 };
/// The number of parts of the samples for the weight gradient.
pub(crate) const CONV_GRAD_PARTS: usize = 16;
/// The number of taps that are computed at a time: twelve sums and their inputs fill
/// sixteen registers.
pub(crate) const CONV_GRAD_TAPS: usize = 6;
/// The number of registers of outputs that are computed at a time.
pub(crate) const CONV_GRAD_REGISTERS: usize = 2;
/// The number of values in a tile of the transposed gradient: half of an L1 cache.
pub(crate) const CONV_GRAD_TILE: usize = 4096;
/// The number of rows of the gradient that are transposed together: a cache line of
/// single-precision floats.
pub(crate) const CONV_GRAD_ROWS: usize = 16;

// Depthwise convolutions

/// The number of registers of positions that are computed at a time, enough to hide the
/// latency of an instruction.
pub(crate) const DEPTHWISE_REGISTERS: usize = 8;
/// The number of taps of the weight gradient that are computed at a time: a row of
/// common filters.
pub(crate) const DEPTHWISE_TAPS: usize = 7;
