//! Fuzzes bgzip files in which some valid blocks are changed, removed, repeated or
//! moved.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{blocks, choices::Choices};

fuzz_target!(|bytes: &[u8]| blocks::run(Choices::new(bytes)));
