//! Opens arbitrary bytes as an index: `.fai`, `.gzi` and the index of seqloom.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_index::{parse_fai, parse_gzi, parse_index_rows};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse_fai(bytes);
    let _ = parse_gzi(bytes);
    let _ = parse_index_rows(bytes);
});
