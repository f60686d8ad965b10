//! Elementwise programs, run block by block.
//!
//! A [`Program`] is a list of operations on numbered values. [`run`] cuts the arrays into
//! blocks that fit into the first-level cache, and does the whole list for one block before
//! it begins the next: what lies between two operations never reaches the memory. Inputs
//! are broadcast as they are read; outputs are stored, or folded along some axes (a sum, a
//! greatest value) as they arise.
//!
//! Instructions are chosen when a program runs; with more than one of its `threads` it works
//! in rayon's current pool. Blocks and what is folded depend on the shape alone, so that the
//! number of threads changes no bit of a result.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a kernel is compiled for the oldest machine"
)]

mod array;
mod block;
mod floats;
mod fold;
mod layout;
mod math;
mod number;
mod op;
mod program;
mod run;
pub mod shape;
mod sweep;

pub use array::{Numbers, NumbersMut};
pub use fold::Fold;
pub use number::Number;
pub use op::Op;
pub use program::{Description, Program, ProgramOutput};
pub use run::{InputData, ProgramInput, Target, run};
