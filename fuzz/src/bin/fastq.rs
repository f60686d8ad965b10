//! Reads arbitrary text as FASTQ.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_sequences::options::Format;

fuzz_target!(|text: &[u8]| seqloom_fuzz::read_in_all_ways(text, Some(Format::Fastq)));
