//! Packs the records of a file into batches of tokens, with arbitrary settings and
//! resume positions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, packed};

fuzz_target!(|bytes: &[u8]| packed::run(Choices::new(bytes)));
