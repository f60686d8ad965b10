//! Fuzzes the decompression of bytes that begin like a gzip member.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let rest = bytes.strip_prefix(b"\x1F\x8B\x08").unwrap_or(bytes);
    seqloom_fuzz::read_in_all_ways(&[b"\x1F\x8B\x08", rest].concat(), None);
});
