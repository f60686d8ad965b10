//! Conversion between two-bit genotype codes and numbers.
//!
//! A byte of a `.bed` file contains the codes of four columns, the first in its lowest
//! bits:
//!
//! ```text
//! code  genotype          value if A1 is counted
//! 00    homozygous A1     2
//! 01    missing           -127, or NaN
//! 10    heterozygous      1
//! 11    homozygous A2     0
//! ```
//!
//! - [`mod@row`] decodes consecutive columns of a packed row.
//! - [`mod@column`] decodes one column of many packed rows.
//! - [`mod@choose`] decodes selected columns in any order.
//! - [`mod@each`] decodes packed rows with a separate table for each column.
//! - [`mod@pick`] and [`mod@repack`] copy the codes of selected columns.
//! - [`mod@transpose`] transposes a packed matrix.
//! - [`mod@pack`] encodes numbers as codes.
//! - [`mod@count`] counts genotypes, and [`mod@hardy`] tests for Hardy-Weinberg equilibrium.

pub mod choose;
pub mod column;
pub mod count;
pub mod each;
pub mod hardy;
mod kernels;
pub mod pack;
pub mod pick;
pub mod repack;
pub mod row;
mod square;
pub mod transpose;
mod value;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use kernels::CodeTable;
pub use value::Genotype;
