//! Bytes that should be an exported model: a zip as it comes, and a graph under right hashes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::exported::{run, seal};

fuzz_target!(|bytes: &[u8]| {
    run(bytes.to_vec());
    run(seal(bytes));
});
