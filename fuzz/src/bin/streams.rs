//! Decompresses changed streams of bzip2, xz and zstd.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, streams};

fuzz_target!(|bytes: &[u8]| streams::run(Choices::new(bytes)));
