//! The functions that the page calls.
//!
//! To pass bytes, the page calls `room` with their number and writes them to the returned address.
//! `open`, `predict` and `look` return 0 for success and 1 for an error. The answer or
//! the error message consists of `answer_size` bytes at address `answer`, and is valid
//! until the next call.
//!
//! | function | argument | answer |
//! |---|---|---|
//! | `open` | the bytes of a zip | a description of the model, in JSON |
//! | `predict` | the name of the file, for error messages | a summary, in JSON |
//! | `look` | the name of the file; the number of a record | a description, in JSON; a line feed; an importance for each position and column |
//!
//! `predict` passes each table of scores to `rows`. A table begins with the numbers of
//! records and columns (32 bits each) and the scores, row by row. After these numbers,
//! the scores are repeated as text in the format of `seqloom-run`. The text of the first
//! table has a header line. Numbers are little-endian; scores and importances are 32-bit
//! floats.

#[cfg(target_family = "wasm")]
mod exported;

use seqloom_core::{Error, Result};

use crate::{host::Host, session::Session};

/// The buffers that the page and the module share, and the open model.
#[derive(Default)]
pub struct Bindings {
    input: Vec<u8>,
    answer: Vec<u8>,
    session: Option<Session>,
}

/// The maximal size in bytes of an export that the page passes.
pub const MAX_EXPORT_BYTES: usize = 256 << 20;

impl Bindings {
    /// Allocates the input buffer; `None` if it would be too large.
    pub fn allocate(&mut self, size: usize) -> Option<&mut [u8]> {
        self.input = Vec::new();
        if size > MAX_EXPORT_BYTES || self.input.try_reserve_exact(size).is_err() {
            return None;
        }
        self.input.resize(size, 0);
        Some(&mut self.input)
    }

    /// Returns the answer of the last call.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Opens the zip in the input buffer.
    pub fn open(&mut self) -> bool {
        self.session = None;
        let opened = Session::open(std::mem::take(&mut self.input));
        let facts = opened.map(|session| self.session.insert(session).facts().into_bytes());
        self.answer_with(facts)
    }

    /// Scores the sequence file that the host reads; the name of this file is in the
    /// input buffer.
    pub fn predict(&mut self, host: &impl Host) -> bool {
        let name = self.name();
        let summary = self.session().and_then(|it| it.predict(&name, host));
        self.answer_with(summary.map(String::into_bytes))
    }

    /// Computes the importance of each position in a record of the host's file.
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
