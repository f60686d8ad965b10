//! Opens arbitrary bytes as an exported model: as a zip, and as a graph with valid
//! hashes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::exported::{run, seal};

fuzz_target!(|bytes: &[u8]| {
    run(bytes.to_vec());
    run(seal(bytes));
});
