//! Index files with valid checksums and invalid numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, indexed};

fuzz_target!(|bytes: &[u8]| indexed::run(Choices::new(bytes)));
