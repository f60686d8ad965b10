//! The receiver of the records that a parser finds.

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// One-based.
    pub line: u64,
    /// Zero-based.
    pub byte: u64,
}

/// Receives the records that a parser finds.
pub trait RecordSink {
    /// A record begins.
    fn begin(&mut self, header: &[u8]);

    /// Letters of the record, and where the first of them stands.
    fn letters(&mut self, letters: &[u8], position: Position);

    /// Qualities of the record, behind all its letters.
    fn qualities(&mut self, _qualities: &[u8]) {}

    /// The record is complete.
    fn end(&mut self);

    /// The record that has begun is none.
    fn cancel(&mut self) {}

    /// Whether no further record should begin.
    fn is_full(&self) -> bool;

    /// Whether memory was refused; the record that has begun is then lost.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// A whole record of FASTQ, whose letters stand at `position`.
    #[inline]
    fn record(&mut self, header: &[u8], letters: (&[u8], Position), qualities: &[u8]) {
        self.begin(header);
        self.letters(letters.0, letters.1);
        self.qualities(qualities);
        self.end();
    }
}
