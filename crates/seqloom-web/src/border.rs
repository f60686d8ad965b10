//! The functions that the page calls.
//!
//! To give bytes, the page calls `room` with their number and writes them where it says. Each
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

/// The buffers in which bytes cross, and the model that is open.
#[derive(Default)]
pub struct Border {
    given: Vec<u8>,
    answer: Vec<u8>,
    session: Option<Session>,
}

/// The most bytes that the page may give: an export.
pub const LARGEST: usize = 256 << 20;

impl Border {
    /// Makes room for bytes that the page gives; nothing where that is too much.
    pub fn room(&mut self, size: usize) -> Option<&mut [u8]> {
        self.given = Vec::new();
        if size > LARGEST || self.given.try_reserve_exact(size).is_err() {
            return None;
        }
        self.given.resize(size, 0);
        Some(&mut self.given)
    }

    /// What the last function answered.
    pub fn answer(&self) -> &[u8] {
        &self.answer
    }

    /// Opens the zip that was given.
    pub fn open(&mut self) -> bool {
        self.session = None;
        let opened = Session::open(std::mem::take(&mut self.given));
        let facts = opened.map(|session| self.session.insert(session).facts().into_bytes());
        self.say(facts)
    }

    /// Scores the host's file, whose name was given.
    pub fn predict(&mut self, host: &impl Host) -> bool {
        let name = self.name();
        let summary = self.session().and_then(|it| it.predict(&name, host));
        self.say(summary.map(String::into_bytes))
    }

    /// Says where the model looked in a record of the host's file, whose name was given.
    pub fn look(&mut self, host: &impl Host, record: u64) -> bool {
        let name = self.name();
        let seen = self.session().and_then(|it| it.look(&name, host, record));
        self.say(seen)
    }

    fn name(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.given)).into_owned()
    }

    fn session(&self) -> Result<&Session> {
        let missing = || Error::argument("no model is open: open an exported model first");
        self.session.as_ref().ok_or_else(missing)
    }

    /// Keeps an answer, or the text of an error; says whether it was one.
    fn say(&mut self, answer: Result<Vec<u8>>) -> bool {
        let is_error = answer.is_err();
        self.answer = answer.unwrap_or_else(|error| error.to_string().into_bytes());
        is_error
    }
}
