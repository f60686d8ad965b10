//! Fuzzes the three files of a genotype set, with arbitrary bytes or with matching
//! lengths.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, genotypes};

fuzz_target!(|bytes: &[u8]| genotypes::run(Choices::new(bytes)));
