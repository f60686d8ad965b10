//! Matrix products whose factors are packed from wherever their numbers stand.
//!
//! The scheme is that of Goto and van de Geijn (2008): K, over which products are
//! summed, is cut into blocks; of each, both factors are laid out in panels of a few
//! lines, in the order of their use ([`Lines`]); a kernel sums a tile of the output in
//! registers ([`tiles`]), and the caller adds the tile to the output. An image's
//! windows are packed straight from the image, so that no matrix of them is ever built.
//!
//! Every number of the output is summed in the order of K, block after block:
//! the thread that computes it and the other numbers of the output change no bit.

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
pub(crate) use fill::fill;
pub use fill::products;
pub(crate) use kernel::{TakeTile, Tile};
pub(crate) use lines::Lines;
pub use matrix::Matrix;
pub(crate) use packed::{Packed, Side, pack_right, tiles};
pub(crate) use panels::{Panels, blocks};
pub(crate) use strided::Update;
pub(crate) use transpose::transpose;
