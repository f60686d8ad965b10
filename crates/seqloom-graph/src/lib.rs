//! Exported models: opens them, checks them, and runs their graph on arrays.
//!
//! An [`Export`] is a folder, or a zip without compression, that Python has written: see
//! `docs/reference/exported-model.md`. Every hash is compared and every operation checked
//! before anything is computed. No file holds code.

mod array;
mod export;
pub mod graph;
mod layout;
mod limits;
mod manifest;
mod memory;
mod model;
mod ops;
mod plan;
mod planned_graph;
mod reads;
mod records;
mod slices;
mod source;
mod tensors;
#[cfg(test)]
mod tests;

pub use array::{Array, Input, Values};
pub use export::Export;
pub use limits::Limits;
pub use manifest::{BatchLayout, Crop, Manifest, Pair, Pool, Task, TaskName, Training, VERSION};
pub use model::Model;
pub use safetensors;
pub use seqloom_core::Dtype;
pub use seqloom_fuse::Numbers;
