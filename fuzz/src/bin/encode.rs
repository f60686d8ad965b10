//! Encodes sequences with invalid characters, lengths and offsets: one-hot, as tokens,
//! and as k-mers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, encoded};

fuzz_target!(|bytes: &[u8]| encoded::run(Choices::new(bytes)));
