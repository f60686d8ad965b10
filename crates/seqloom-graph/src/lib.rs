//! Exported models: opens them, checks them, and runs their graph on arrays.
//!
//! An [`Export`] is a folder, or a zip without compression, that Python has written: see
//! `docs/reference/exported-model.md`. Every hash is compared and every operation checked
//! before anything is computed. No file holds code.

#![expect(
    dead_code,
    reason = "the part that runs the graph reads what is checked here"
)]

mod array;
mod dtype;
mod export;
pub mod graph;
mod limits;
mod manifest;
mod source;
mod tensors;
#[cfg(test)]
mod tests;

pub use array::{Array, Data, Input, Values};
pub use dtype::Dtype;
pub use export::Export;
pub use limits::Limits;
pub use manifest::{Crop, Layout, Manifest, Pair, Pool, Task, TaskName, VERSION};
pub use safetensors;
