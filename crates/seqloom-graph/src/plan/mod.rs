//! A graph for inputs of given shapes: steps, and a place in memory for all that they fill.

mod arena;
mod builder;
mod elementwise;
mod place;
mod run;

pub(crate) use builder::{Builder, Item, Origin, Work};
pub(crate) use elementwise::Elementwise;
pub(crate) use place::{Operand, Plan};
pub(crate) use run::Sources;
