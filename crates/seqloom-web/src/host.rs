//! What the module asks of whoever runs it.

use std::io::{self, Read};

/// Whoever runs the module.
pub trait Host: Clone + Send + Sync + 'static {
    /// Begins the file of sequences anew.
    fn rewind(&self);

    /// Puts the next bytes of the file into `room` and says how many; 0 at its end, and nothing
    /// where it cannot be read.
    fn read(&self, room: &mut [u8]) -> Option<usize>;

    /// Takes a table of scores: see [`border`](crate::border).
    fn rows(&self, table: &[u8]);

    /// Hears how many records were scored.
    fn progress(&self, records: u64);
}

/// The file of sequences, as a parser reads it.
pub(crate) struct Stream<H>(pub(crate) H);

impl<H: Host> Read for Stream<H> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(room).filter(|count| *count <= room.len());
        count.ok_or_else(|| io::Error::other("the browser cannot read it any more"))
    }
}
