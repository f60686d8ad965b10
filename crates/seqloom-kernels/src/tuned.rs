//! Constants of the kernels that were chosen by timing, and the size of a cache line.
//!
//! The constants were measured on AMD EPYC processors: Zen 3 with AVX2 and Zen 5 with
//! AVX-512. To tune the constants for another processor family, other cache sizes or
//! changed loops, run `make bench SUITE=products` and `make bench SUITE=kernels`, each
//! also with `SIMD=avx2`. A changed constant may change the order in which values are
//! added, and therefore the last bits of results.
//!
//! Names that end with 32 or 16 are for processors with 32 or 16 vector registers.

use std::{ops::RangeInclusive, time::Duration};

// Processors

/// The size of a cache line in bytes.
pub(crate) const CACHE_LINE: usize = 64;
/// The number of single-precision floats in a cache line.
pub(crate) const CACHE_LINE_FLOATS: usize = 16;

// Threads

/// The least work, in nanoseconds on one thread, for which other threads are woken.
/// Waking a thread takes about 20,000 ns.
pub(crate) const WAKE_NS: usize = 50_000;
/// The time that an idle thread spins before it sleeps. Python needs up to half a
/// millisecond between two kernels of a step. A thread may wake up on the core of its
/// caller, and the operating system moves a thread to a free core only while the thread
/// is awake.
pub(crate) const IDLE_SPIN_TIME: Duration = Duration::from_millis(1);
/// The number of values in a chunk of elementwise work. A chunk fills half of an L1
/// cache.
pub(crate) const CHUNK_VALUES: usize = 4096;
/// The number of tensor elements that a thread updates at a time in an `AdamW` step.
pub(crate) const ADAMW_CHUNK: usize = 16 * CHUNK_VALUES;
/// The number of random words that are computed at a time.
pub(crate) const RANDOM_WORDS: usize = 256;

// Products: tiles and blocks

/// The number of rows of an output tile, and the number of vector registers for its
/// columns.
pub(crate) const TILE_32: (usize, usize) = (8, 3);
/// The number of rows of an output tile, and the number of vector registers for its
/// columns. With 4 x 3 sums, too few registers would remain for the inputs, so the
/// compiler would spill two sums at each step. In WebAssembly each product needs an
/// additional register, and engines reserve another register.
pub(crate) const TILE_16: (usize, usize) = if cfg!(target_family = "wasm") {
    (4, 2)
} else {
    (6, 2)
};
/// The largest number of positions in a block of the inner axis. A right panel of this
/// length fits in an L1 cache, or is prefetched from the L2 cache in time.
pub(crate) const MAX_BLOCK_K: usize = 320;
/// The number of output blocks per thread of a matrix product. With several blocks, all
/// threads finish at about the same time.
pub(crate) const PRODUCT_BLOCKS_PER_THREAD: usize = 2;
/// The number of bytes of an output row that are computed at a time. The packed columns
/// for this number of bytes are kept for all rows, and need a few megabytes.
pub(crate) const KEPT_ROW_BYTES: usize = 1 << 13;
/// The number of bytes of an output column that are computed at a time. The packed rows
/// for these bytes fit in an L2 cache.
pub(crate) const BAND_BYTES: usize = 192 * 4;
/// The least number of right panels that are packed and used together.
pub(crate) const MIN_GROUP_PANELS: usize = 3;
/// The number of right panels that are multiplied with each left panel on processors
/// with 32 registers. The right panels fit in an L2 cache.
pub(crate) const GROUP_PANELS: usize = 3;
/// The total size in bytes of right panels that fit in an L1 cache together with a left
/// panel.
pub(crate) const GROUP_L1_BYTES: usize = 20 << 10;
/// The number of positions of the inner axis by which a right panel is prefetched
/// ahead.
pub(crate) const PANEL_PREFETCH: usize = 8;

// Products: packing

/// The number of panels that a thread packs at a time.
pub(crate) const PACK_PANELS: usize = 4;
/// The number of interleaved rows or columns that are packed together. The values at
/// each position of the inner axis fill some cache lines.
pub(crate) const PACK_LINES: usize = 48;
/// The number of positions of the inner axis by which interleaved rows or columns are
/// prefetched while they are packed.
pub(crate) const PACK_PREFETCH: usize = 8;
/// The number of positions that are transposed at a time. The transposed values of a
/// row fill a cache line.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_BLOCK: usize = 16;
/// The number of positions by which rows are prefetched while they are transposed.
#[cfg(target_arch = "x86_64")]
pub(crate) const TRANSPOSE_PREFETCH: usize = 2 * TRANSPOSE_BLOCK;

// Products of a small matrix and a large matrix; at most one of the two is packed

/// The largest number of rows or columns of the smaller matrix for which a product is
/// computed as dot products.
pub(crate) const DOTS_MAX_LINES: usize = 4;
/// The largest number of left rows for which a right matrix with adjacent columns is
/// read in place.
pub(crate) const ADJACENT_MAX_ROWS: usize = 6;
/// The number of positions of the inner axis that are processed together. The memory
/// pages of these positions remain in the translation lookaside buffer (TLB).
pub(crate) const TLB_SPAN: usize = 64;
/// The number of tiles by which adjacent right columns are prefetched ahead.
pub(crate) const ADJACENT_PREFETCH: usize = 2;
/// The number of rows or columns of the larger matrix that a thread processes at a
/// time: a multiple of all tile sizes. The largest tile has 8 registers of 16 values.
pub(crate) const NARROW_LINES: usize = 384;
/// The largest number of left rows for which the right matrix is read in place. With
/// more left rows, packing the right matrix takes less time than transposing the tiles.
pub(crate) const DIRECT_MAX_LEFT_LINES: usize = 48;
/// The largest number of right columns for which the left matrix is read in place.
pub(crate) const DIRECT_MAX_RIGHT_LINES: usize = 64;
/// The smallest length of the inner axis for which it is faster to compute the
/// transposed tile.
pub(crate) const DIRECT_MIN_TRANSPOSED_K: usize = 192;
/// The number of rows or columns in a thread's block is a multiple of this number.
/// Every tile size divides this number.
pub(crate) const DIRECT_STRIPE_LINES: usize = 48;
/// The number of packed values in a block of the inner axis. These values fit in an L2
/// cache.
pub(crate) const DIRECT_BLOCK_VALUES: usize = 1 << 17;
/// The least number of positions in a block of the inner axis.
pub(crate) const DIRECT_MIN_BLOCK_K: usize = 128;
/// The largest number of positions in a block of the inner axis.
pub(crate) const DIRECT_MAX_BLOCK_K: usize = 1024;

// Layers of transformers

/// The size in bytes of a band of rows that fits in an L2 cache together with panels of
/// weights.
pub(crate) const DENSE_BAND_BYTES: usize = 512 << 10;
/// The number of rows of a band is a multiple of this number. The number of rows of
/// every tile divides this number.
pub(crate) const DENSE_BAND_STEP: usize = 24;
/// The largest number of rows of a band. Reading the weights does not become faster
/// with more rows.
pub(crate) const DENSE_MAX_BAND_ROWS: usize = 192;
/// The largest number of row tiles over which the weight gradient of layer norm or RMS
/// norm is summed.
pub(crate) const NORM_GRAD_MAX_TILES: usize = 32;
/// The least number of rows in a row tile for the gradient of layer norm or RMS norm.
pub(crate) const NORM_GRAD_MIN_ROWS: usize = 16;

// Attention

/// The largest number of keys in a block. With longer blocks, fewer queries fit in the
/// cache, and all keys and values are packed again for each block of queries.
pub(crate) const MAX_BLOCK_KEYS: usize = 512;
/// The size in bytes of a block of attention scores.
pub(crate) const ATTENTION_SCORE_BYTES: usize = 256 << 10;
/// The number of keys in a tile of attention scores.
pub(crate) const ATTENTION_TILE_32: usize = 8;
/// The number of keys in a tile of attention scores.
pub(crate) const ATTENTION_TILE_16: usize = 6;
/// The number of vector registers for the queries in a tile of attention scores.
pub(crate) const QUERY_REGISTERS: usize = 2;

// Recurrent layers

/// The number of sequences that are computed together or, if there are fewer sequences,
/// the number of steps whose inputs are multiplied together. The input part of the
/// gates remains in an L2 cache.
pub(crate) const RECURRENT_BLOCK_SEQUENCES: usize = 48;
/// The least number of sequences per thread in the backward pass. More threads would
/// spend too much time on packing the weights.
pub(crate) const RECURRENT_GRAD_MIN_SEQUENCES: usize = 4;

// Convolutions that pack the windows of their input

/// The number of convolution windows that are packed at a time. The packed windows fill
/// whole panels on all processors, and fit in an L2 cache.
pub(crate) const CONV_STRIP_WINDOWS: usize = 144;
/// The number of convolution windows for which the output is computed at a time.
pub(crate) const CONV_BLOCK_WINDOWS: usize = 480;
/// The number of convolution windows that are packed at a time for the weight gradient.
/// The packed windows fit in an L1 cache.
pub(crate) const CONV_PACK_WINDOWS: usize = 64;
/// The number of outputs for which a thread sums the bias gradient at a time.
pub(crate) const CONV_BIAS_SUMS: usize = 16;

// Convolutions that read the input in place

/// The largest number of products in an output value for which a convolution along one
/// axis reads its input in place.
pub(crate) const CONV_MAX_PRODUCTS_1D: usize = 160;
/// The largest number of products in an output value for which a convolution along two
/// axes reads its input in place. The limit is larger than for one axis, because
/// packing windows along two axes takes longer.
pub(crate) const CONV_MAX_PRODUCTS_2D: usize = 640;
/// The least number of windows per row for which a convolution reads its input in
/// place. The outputs of these windows fill a few registers.
pub(crate) const CONV_MIN_WINDOWS: usize = 16;
/// The numbers of rows for which the weight gradient reads its input in place. With
/// these numbers of rows, blocks of sums are nearly full and fit in an L2 cache.
pub(crate) const CONV_GRAD_OUTPUTS: RangeInclusive<usize> = 3..=48;
/// The number of convolution windows of a row that are computed at a time. These
/// windows fill whole blocks for every number of registers.
pub(crate) const CONV_TILE_WINDOWS: usize = 480;
/// The number of input values of the convolution windows that are computed at a time.
/// The values fit in an L1 cache together with the weights.
pub(crate) const CONV_TILE_INPUTS: usize = 6144;
/// The number of output blocks per thread of a convolution. With several blocks, all
/// threads finish at about the same time.
pub(crate) const CONV_BLOCKS_PER_THREAD: usize = 4;
/// The number of filter rows in a block of sums of a convolution. In WebAssembly each
/// product needs an additional register, and engines reserve another register.
pub(crate) const CONV_TILE_ROWS_16: usize = if cfg!(target_family = "wasm") { 4 } else { 6 };
/// The number of parts into which a batch is split for the weight gradient of a
/// convolution.
pub(crate) const CONV_GRAD_PARTS: usize = 16;
/// The number of filter taps for which the weight gradient is computed at a time.
/// Twelve sums and their inputs fill sixteen registers.
pub(crate) const CONV_GRAD_TAPS: usize = 6;
/// The number of registers of outputs for which the weight gradient is computed at a
/// time.
pub(crate) const CONV_GRAD_REGISTERS: usize = 2;
/// The number of values in a tile of the transposed output gradient, which fills half
/// of an L1 cache.
pub(crate) const CONV_GRAD_TILE: usize = 4096;
/// The number of gradient rows that are transposed together: the number of
/// single-precision floats in a cache line.
pub(crate) const CONV_GRAD_ROWS: usize = 16;

// Depthwise convolutions

/// The number of registers of positions for which a depthwise convolution is computed
/// at a time. Several registers are needed to hide the latency of an instruction.
pub(crate) const DEPTHWISE_REGISTERS: usize = 8;
/// The number of filter taps for which the weight gradient of a depthwise convolution
/// is computed at a time. Common filters have rows of this length.
pub(crate) const DEPTHWISE_TAPS: usize = 7;
