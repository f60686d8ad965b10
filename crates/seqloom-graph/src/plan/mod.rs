//! A graph for inputs of given shapes: steps, and a place in memory for all that they fill.

mod arena;
mod builder;
mod place;
mod run;

pub(crate) use builder::{Builder, Item, Origin};
pub(crate) use place::{Operand, Plan};
pub(crate) use run::Sources;
