//! Indexes arbitrary text in any compression, and checks that the indexed records equal
//! the records of a reader.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{built, choices::Choices};

fuzz_target!(|bytes: &[u8]| built::run(Choices::new(bytes)));
