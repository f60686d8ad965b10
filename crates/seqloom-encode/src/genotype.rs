//! Two-bit genotypes to numbers and back.
//!
//! A byte of a `.bed` holds the codes of four positions, the first in its lowest bits:
//!
//! ```text
//! code  genotype          value if A1 is counted
//! 00    homozygous A1     2
//! 01    missing           -127, or NaN
//! 10    heterozygous      1
//! 11    homozygous A2     0
//! ```
//!
//! [`mod@row`] decodes positions that lie end to end; [`mod@pick`] moves some positions of a line
//! together; [`mod@choose`] decodes some positions in any order; [`mod@column`] decodes one position
//! of many lines. [`mod@count`] and [`mod@hardy`] say
//! how often each genotype occurs, and whether that is a surprise. [`mod@each`] decodes lines by
//! a table for each position; [`mod@transpose`] transposes lines and positions; [`mod@repack`] picks codes
//! of a line in any order.

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
