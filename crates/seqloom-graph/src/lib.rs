//! Exported models: reads them, checks them, and runs their graph on arrays.
//!
//! An [`Export`] is a folder, or a zip without compression, that seqloom wrote from Python:
//! see `docs/reference/exported-model.md`. All hashes and all operations are checked before
//! the graph is run. The files contain no code.

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
pub use manifest::{
    BatchLayout, Crop, FORMAT_VERSION, Manifest, PairMode, PoolMode, Task, TaskName, Training,
};
pub use model::Model;
pub use safetensors;
pub use seqloom_core::Dtype;
pub use seqloom_fuse::Elements;
