//! Indexes arbitrary text in any compression: the indexed records must equal the
//! records that a reader returns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{built, choices::Choices};

fuzz_target!(|bytes: &[u8]| built::run(Choices::new(bytes)));
