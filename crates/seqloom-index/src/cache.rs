//! What a thread keeps between calls that read records.

use std::collections::HashSet;
use std::ops::Range;

use seqloom_compression::seekable;

/// Text and rows that a thread keeps between calls.
#[derive(Default)]
pub(crate) struct Cache {
    pub(super) text: seekable::TextCache,
    pub(super) page: Vec<u8>,
    /// The rows in the page.
    pub(super) page_rows: Range<u64>,
    /// Text that was read together.
    pub(super) near: Vec<u8>,
    /// The rows whose headers were checked.
    pub(super) checked_headers: HashSet<u64>,
}
