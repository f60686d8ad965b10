//! Products of matrices with any memory layout.
//!
//! The algorithm follows Goto and van de Geijn (2008). The inner axis, over which the
//! product sums, is split into blocks. For each block, both matrices are packed into
//! panels of a few rows or columns, in the order in which they are read ([`Lines`]). A
//! kernel computes a tile of the output in registers ([`for_each_tile`]), and the caller adds
//! the tile to the output. Windows of an image are packed directly from the image,
//! without a matrix of windows.
//!
//! Every output value is summed in the order of the inner axis, block by block. The
//! result does not depend on the number of threads or on other output values.

mod direct;
mod epilogue;
mod fill;
mod kernel;
mod lines;
mod matrix;
mod narrow;
mod packed;
mod panels;
mod rows;
mod strided;
#[cfg(test)]
pub(crate) mod tests;
mod transpose;

pub(crate) use epilogue::Epilogue;
pub(crate) use fill::fill_product;
pub use fill::multiply_pairs;
pub(crate) use kernel::{Tile, TileReader};
pub(crate) use lines::Lines;
pub use matrix::Matrix;
pub(crate) use packed::{Panels, Side, for_each_tile, pack_right};
pub(crate) use panels::{PanelSizes, k_blocks};
pub(crate) use strided::Update;
pub(crate) use transpose::transpose;
