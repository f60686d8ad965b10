//! Opens arbitrary bytes as an exported model: as a zip, and as a graph with valid
//! hashes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::exported::{export_of_graph, run};

fuzz_target!(|bytes: &[u8]| {
    run(bytes.to_vec());
    run(export_of_graph(bytes));
});
