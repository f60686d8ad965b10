//! The buffers that a thread reuses between calls.

use std::collections::HashSet;
use std::ops::Range;

use seqloom_compression::seekable;

/// The memory for text and index rows that a thread reuses between calls.
#[derive(Default)]
pub(crate) struct ReadCache {
    pub(super) text: seekable::TextCache,
    pub(super) page: Vec<u8>,
    /// The index rows of the current page.
    pub(super) page_rows: Range<u64>,
    /// The text of records that were read together.
    pub(super) together: Vec<u8>,
    /// The records whose headers were already checked.
    pub(super) checked_headers: HashSet<u64>,
}
