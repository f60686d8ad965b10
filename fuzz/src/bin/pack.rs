//! Records of a file as packed batches of tokens, by hostile settings and places.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, packed};

fuzz_target!(|bytes: &[u8]| packed::run(Choices::new(bytes)));
