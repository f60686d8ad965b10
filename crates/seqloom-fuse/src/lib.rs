//! Programs of elementwise operations, which run block by block.
//!
//! A [`Program`] is a list of operations on numbered values. [`run_program`] splits the arrays into
//! blocks that fit in an L1 cache, and runs the whole program on one block before it
//! starts the next block. Intermediate values never reach main memory. Inputs are
//! broadcast as they are read; outputs are stored or reduced along some axes (for example
//! summed), block by block.
//!
//! The instruction set is chosen at run time. If `threads` is greater than 1, a program
//! runs in the current rayon pool. The blocks and the order of reductions depend on the
//! shape only, so the result is bitwise equal for any number of threads.

#![expect(
    clippy::inline_always,
    reason = "functions that are not inlined are compiled for the baseline instruction set"
)]

mod array;
mod block;
mod fill;
mod floats;
mod fold;
mod layout;
mod math;
mod number;
mod op;
mod program;
mod run;
pub mod shape;

pub use array::{Elements, ElementsMut};
pub use fold::Fold;
pub use number::Number;
pub use op::Op;
pub use program::{Program, ProgramDescription, ProgramOutput};
pub use run::{InputData, OutputTarget, ProgramInput, run_program};
