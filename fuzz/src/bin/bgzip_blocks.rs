//! Bgzip of valid blocks, some of which are changed, dropped, repeated or put elsewhere.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{blocks, choices::Choices};

fuzz_target!(|bytes: &[u8]| blocks::run(Choices::new(bytes)));
