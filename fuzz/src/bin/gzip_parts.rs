//! Decompresses changed gzip files with one thread, and then with several threads from
//! the snapshots of the first pass.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, parts};

fuzz_target!(|bytes: &[u8]| parts::run(Choices::new(bytes)));
