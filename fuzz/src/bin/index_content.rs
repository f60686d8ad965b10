//! Index files whose checksums are right and whose numbers are hostile.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, indexed};

fuzz_target!(|bytes: &[u8]| indexed::run(Choices::new(bytes)));
