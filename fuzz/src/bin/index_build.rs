//! Any text in any container: what is indexed is what is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{built, choices::Choices};

fuzz_target!(|bytes: &[u8]| built::run(Choices::new(bytes)));
