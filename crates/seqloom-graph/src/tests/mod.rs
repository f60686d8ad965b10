//! Exports made by hand: opened, run, and spoiled.

mod files;
mod graphs;
mod groups;
mod hostile;
mod opening;
mod operations;
mod poison;
mod running;
mod slices;

pub(crate) use files::Files;
pub(crate) use graphs::{Maker, run, run_poisoned};
