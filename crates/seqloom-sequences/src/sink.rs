//! The trait of objects that receive the records of a parser.

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte offset, counted from 0.
    pub byte: u64,
}

/// A receiver of the records that a parser reads.
pub trait RecordSink {
    /// Begins a record.
    fn begin_record(&mut self, header: &[u8]);

    /// Adds residues to the current record. `position` is the position of the first
    /// residue in the text.
    fn add_residues(&mut self, letters: &[u8], position: Position);

    /// Adds qualities to the current record, after all of its residues.
    fn add_qualities(&mut self, _qualities: &[u8]) {}

    /// Completes the current record.
    fn end_record(&mut self);

    /// Discards the current record, which is incomplete.
    fn cancel_record(&mut self) {}

    /// Returns true if the sink is full, so that no further record should begin.
    fn is_full(&self) -> bool;

    /// Returns true if an allocation failed. After a failed allocation, the current
    /// record is lost.
    fn is_out_of_memory(&self) -> bool {
        false
    }

    /// Adds a whole FASTQ record. `add_residues` contains the residues and their position in
    /// the text.
    #[inline]
    fn add_record(&mut self, header: &[u8], letters: (&[u8], Position), qualities: &[u8]) {
        self.begin_record(header);
        self.add_residues(letters.0, letters.1);
        self.add_qualities(qualities);
        self.end_record();
    }
}
