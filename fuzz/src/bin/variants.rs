//! Reads VCF and BCF files, and regions with changed indexes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::variants;

fuzz_target!(|bytes: &[u8]| variants::run(bytes));
