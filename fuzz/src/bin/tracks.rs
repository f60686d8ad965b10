//! Reads bigWig files with changed bytes, and bedGraph text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::tracks;

fuzz_target!(|bytes: &[u8]| tracks::run(bytes));
