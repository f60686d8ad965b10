//! Opens index files with valid checksums but invalid numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, indexed};

fuzz_target!(|bytes: &[u8]| indexed::run(Choices::new(bytes)));
