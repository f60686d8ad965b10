//! The plan of a graph for given input shapes: steps, and an offset in memory for each
//! storage.

mod arena;
mod builder;
mod elementwise;
mod place;
mod run;

pub(crate) use builder::{Builder, StepWork, StorageOrigin, View};
pub(crate) use elementwise::Elementwise;
pub(crate) use place::{PlacedView, Plan};
pub(crate) use run::Sources;
