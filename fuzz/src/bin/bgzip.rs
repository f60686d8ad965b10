//! Fuzzes the decompression of bytes that begin like a bgzip block.
#![no_main]

use libfuzzer_sys::fuzz_target;

const HEADER: &[u8] = b"\x1F\x8B\x08\x04\0\0\0\0\0\xFF\x06\0BC\x02\0";

fuzz_target!(|bytes: &[u8]| {
    let rest = bytes.strip_prefix(HEADER).unwrap_or(bytes);
    seqloom_fuzz::read_in_all_ways(&[HEADER, rest].concat(), None);
});
