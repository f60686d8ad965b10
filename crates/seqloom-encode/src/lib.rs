//! Sequence records to numbers.

pub mod count;
pub mod one_hot;
mod policy;

pub use policy::{Case, Unknown};
