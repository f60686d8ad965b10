//! What a thread keeps between calls that read records.

use std::collections::HashSet;
use std::ops::Range;

use seqloom_compression::seekable;

/// What a thread keeps between calls.
#[derive(Default)]
pub(crate) struct Cache {
    pub(super) text: seekable::TextCache,
    pub(super) page: Vec<u8>,
    /// Which rows the page holds.
    pub(super) held: Range<u64>,
    /// Text that was read together.
    pub(super) near: Vec<u8>,
    /// Rows whose headers were seen to stand where they should.
    pub(super) seen: HashSet<u64>,
}
