//! The functions that the module needs from the page.

use std::io::{self, Read};

/// The page that runs the module.
pub trait Host: Clone + Send + Sync + 'static {
    /// Rewinds the file of sequences.
    fn rewind(&self);

    /// Reads the next bytes of the file into `buffer` and returns their number: 0 at its end,
    /// `None` if it cannot be read.
    fn read(&self, buffer: &mut [u8]) -> Option<usize>;

    /// Receives a table of scores, in the format of [`bindings`](crate::bindings).
    fn rows(&self, table: &[u8]);

    /// Receives the number of records that were scored.
    fn progress(&self, records: u64);
}

/// The file of sequences as a byte stream for a parser.
pub(crate) struct HostStream<H>(pub(crate) H);

impl<H: Host> Read for HostStream<H> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer).filter(|count| *count <= buffer.len());
        count.ok_or_else(|| io::Error::other("the browser can no longer read the file"))
    }
}
