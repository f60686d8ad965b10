//! The interface between a parser and the receiver of its records.

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte offset, counted from 0.
    pub byte: u64,
}

/// A receiver of the records that a parser finds.
pub trait RecordSink {
    /// Begins a record.
    fn begin(&mut self, header: &[u8]);

    /// Adds residues to the record; `position` is the position of the first of them in
    /// the text.
    fn letters(&mut self, letters: &[u8], position: Position);

    /// Adds qualities to the record, after all of its residues.
    fn qualities(&mut self, _qualities: &[u8]) {}

    /// Completes the record.
    fn end(&mut self);

    /// Discards the incomplete record.
    fn cancel(&mut self) {}

    /// Returns whether the sink is full, so that no further record should begin.
    fn is_full(&self) -> bool;

    /// Returns whether an allocation failed; if so, the incomplete record is lost.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Adds a whole FASTQ record; `letters` contains the residues and their position.
    #[inline]
    fn record(&mut self, header: &[u8], letters: (&[u8], Position), qualities: &[u8]) {
        self.begin(header);
        self.letters(letters.0, letters.1);
        self.qualities(qualities);
        self.end();
    }
}
