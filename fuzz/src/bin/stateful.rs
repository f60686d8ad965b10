//! Makes random sequences of calls on an index and on readers of one file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, stateful};

fuzz_target!(|bytes: &[u8]| stateful::run(Choices::new(bytes)));
