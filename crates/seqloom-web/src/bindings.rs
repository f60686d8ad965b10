//! The functions that the page calls.
//!
//! To pass bytes, the page calls `room` with their number and writes them to that address. Each
//! of `open`, `predict` and `look` returns 0 for an answer and 1 for an error; the answer,
//! or the error's text, are `answer_size` bytes from `answer` on, until the next call.
//!
//! | function | takes | answers |
//! |---|---|---|
//! | `open` | the bytes of a zip | facts, in JSON |
//! | `predict` | the name of the file, as errors have it | a summary, in JSON |
//! | `look` | the same; the number of a record | facts, in JSON, a line feed, and an importance for each position and column |
//!
//! `predict` hands tables to `rows` as it goes: two numbers of 32 bits (records and columns),
//! the scores row by row, and the lines that `seqloom-run` writes of them; the first table has
//! their head too. All numbers are little-endian; scores and importances are floats of 32 bits.

#[cfg(target_family = "wasm")]
mod exported;

use seqloom_core::{Error, Result};

use crate::host::Host;
use crate::session::Session;

/// The buffers that the page and the module share, and the open model.
#[derive(Default)]
pub struct Bindings {
    input: Vec<u8>,
    answer: Vec<u8>,
    session: Option<Session>,
}

/// The most bytes that the page may give: an export.
pub const LARGEST: usize = 256 << 20;

impl Bindings {
    /// Allocates the input buffer; `None` if it would be too large.
    pub fn allocate(&mut self, size: usize) -> Option<&mut [u8]> {
        self.input = Vec::new();
        if size > LARGEST || self.input.try_reserve_exact(size).is_err() {
            return None;
        }
        self.input.resize(size, 0);
        Some(&mut self.input)
    }

    /// Returns the answer of the last function.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Opens the zip that was given.
    pub fn open(&mut self) -> bool {
        self.session = None;
        let opened = Session::open(std::mem::take(&mut self.input));
        let facts = opened.map(|session| self.session.insert(session).facts().into_bytes());
        self.answer_with(facts)
    }

    /// Scores the host's file, whose name was given.
    pub fn predict(&mut self, host: &impl Host) -> bool {
        let name = self.name();
        let summary = self.session().and_then(|it| it.predict(&name, host));
        self.answer_with(summary.map(String::into_bytes))
    }

    /// Computes the importance of each position in a record of the host's file whose name was given.
    pub fn explain(&mut self, host: &impl Host, record: u64) -> bool {
        let name = self.name();
        let answer = self
            .session()
            .and_then(|it| it.explain(&name, host, record));
        self.answer_with(answer)
    }

    fn name(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.input)).into_owned()
    }

    fn session(&self) -> Result<&Session> {
        let missing = || Error::argument("no model is open: open an exported model first");
        self.session.as_ref().ok_or_else(missing)
    }

    /// Stores an answer or the text of an error; returns whether it was an error.
    fn answer_with(&mut self, answer: Result<Vec<u8>>) -> bool {
        let is_error = answer.is_err();
        self.answer = answer.unwrap_or_else(|error| error.to_string().into_bytes());
        is_error
    }
}
