//! Scores files with exported models that have invalid encoders and settings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seqloom_fuzz::{choices::Choices, predicted};

fuzz_target!(|bytes: &[u8]| predicted::run(Choices::new(bytes)));
