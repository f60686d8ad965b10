//! Tests that open, run and corrupt hand-written exports.

mod files;
mod graphs;
mod groups;
mod hostile;
mod opening;
mod operations;
mod poison;
mod running;
mod slices;

pub(crate) use files::ExportFixture;
pub(crate) use graphs::{GraphBuilder, run_graph, run_poisoned};
