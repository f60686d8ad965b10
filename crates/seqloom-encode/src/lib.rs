//! Encodes sequence records and genotypes as numbers.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined into a kernel uses baseline instructions only"
)]

pub mod augment;
pub mod count;
mod fill;
mod frame;
pub mod genotype;
mod kmer;
mod letters;
mod lookup;
pub mod one_hot;
pub mod pack;
mod policy;
mod word;

pub use fill::{RowBlock, RowKernel, RowLayout, encode};
pub use frame::TokenFrame;
pub use kmer::{KmerCounts, KmerNumbering, Kmers};
pub use letters::{LetterChecker, LetterCounts, LetterTable};
pub use lookup::Lookup;
pub use one_hot::OneHot;
pub use policy::{CasePolicy, Policy, RarePolicy, SymbolPolicy};
pub use word::{AnyKernel, ElementBits};
