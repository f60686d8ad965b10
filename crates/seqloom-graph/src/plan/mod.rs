//! A graph for inputs of given shapes: steps, and a place in memory for all that they fill.

mod arena;
mod builder;
mod elementwise;
mod place;
mod run;

pub(crate) use builder::{Builder, Origin, View, Work};
pub(crate) use elementwise::Elementwise;
pub(crate) use place::{PlacedView, Plan};
pub(crate) use run::Sources;
