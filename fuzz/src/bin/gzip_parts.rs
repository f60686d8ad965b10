//! Changed gzip files, decompressed by one thread and then by several threads from
//! stored snapshots.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, parts};

fuzz_target!(|bytes: &[u8]| parts::run(Choices::new(bytes)));
