//! Splits records into windows, and packs the windows into batches.

use std::collections::VecDeque;
use std::mem;

use seqloom_core::{BufferPool, Error, error::Fault};
use seqloom_sequences::Batch;
use xxhash_rust::xxh3::xxh3_64;

use super::batch::PackedBatch;
use super::files::RecordFiles;
use super::group::WindowGroup;
use super::pool::WindowPool;
use super::resume::{ResumePoint, WindowState};
use super::row::{Origin, TokenRow, WindowInfo};
use super::tokens::Tokenise;
use super::windows::{TokenWindow, WindowCutter};
use crate::gather::{RaggedView, first_word};

/// The index in `met` of the count of final stops (`*`) that were removed from sequences.
const FINAL_STOP_INDEX: usize = 4;

/// The rules by which batches are packed.
#[derive(Clone, Copy, Debug)]
pub struct PackingRule {
    /// Maximum number of tokens of a batch.
    pub capacity: usize,
    /// Minimum number of windows in the pool when a batch is chosen.
    pub window: usize,
    /// The rule that splits records into windows.
    pub cut: WindowCutter,
    /// True if records without residues are accepted.
    pub keeps_empty: bool,
}

/// The reason why no batch can be returned.
#[derive(Clone, Debug)]
pub enum PackingFailure {
    /// Reading a file failed.
    Reading(Error),
    /// A record cannot be packed.
    Record {
        /// The position of the record.
        origin: Origin,
        /// The id of the record.
        id: Box<[u8]>,
        /// The number of residues of the record.
        letters: usize,
        /// The reason why the record cannot be packed.
        cause: Cause,
    },
}

/// The reason why a record cannot be packed.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The record has no residues.
    Empty,
    /// The record has this number of tokens, which exceeds the size of a batch.
    Long(usize),
    /// The tokeniser returned an error; its residue positions are relative to the start of
    /// the record.
    Tokens(Error),
}

/// Reads records, splits the records into windows, and tokenises and packs the windows.
pub struct BatchStream<T> {
    files: RecordFiles,
    rule: PackingRule,
    tokeniser: T,
    buffer_pool: BufferPool<u32>,
    /// The current records, the position of the first record, the index of the current
    /// record, and the start of its next window.
    batch: Batch,
    origin: Origin,
    record: usize,
    start: usize,
    group: WindowGroup,
    /// Tokenised windows that are not yet in the pool.
    queue: VecDeque<TokenRow>,
    pool: WindowPool,
    /// The position from which the stream was created or resumed.
    begun: ResumePoint,
    /// Number of windows that were in the pool at `begun` and have not been read again yet.
    missing: usize,
    /// The position of the next record, and the key of the next window.
    next: (Origin, (u64, u64)),
    /// The hash of the records that entered the pool.
    content_packed: u64,
    /// The hash of the records that were read.
    content: u64,
    /// Number of final stops (`*`) removed since the last batch.
    stops: i64,
    failed: Option<PackingFailure>,
}

impl<T: Tokenise> BatchStream<T> {
    /// Creates a stream that resumes at a position, which must be the start of `files`.
    pub fn new(
        files: RecordFiles,
        rule: PackingRule,
        tokeniser: T,
        resume: ResumePoint,
        buffer_pool: BufferPool<u32>,
    ) -> Self {
        Self {
            files,
            rule,
            tokeniser,
            buffer_pool,
            batch: Batch::default(),
            origin: resume.from,
            record: 0,
            start: 0,
            group: WindowGroup::default(),
            queue: VecDeque::new(),
            pool: WindowPool::new(rule.capacity, rule.window),
            missing: resume.waiting.len(),
            next: (resume.from, resume.next),
            content_packed: resume.content,
            content: resume.content,
            begun: resume,
            stops: 0,
            failed: None,
        }
    }

    /// Returns the next batch, or `None` after the last batch. If a record cannot be
    /// packed, all earlier records are returned before the error.
    pub fn next_batch(&mut self) -> Result<Option<PackedBatch>, PackingFailure> {
        loop {
            while let Some(row) = self.queue.pop_front() {
                self.add_to_pool(row)?;
                if self.has_restored_pool() && self.pool.is_full() {
                    return self.pack_batch();
                }
            }
            if !self.refill_pool() {
                break;
            }
        }
        if !self.pool.is_empty() {
            return self.pack_batch();
        }
        match &self.failed {
            Some(failure) => Err(failure.clone()),
            None => self.check_missing_windows().map(|()| None),
        }
    }

    /// Returns a hash of the ids and sequences of the records read so far, in order.
    pub fn content_hash(&self) -> u64 {
        self.content
    }

    /// Returns true if the pool again contains all windows that were in the pool at
    /// `begun`. A batch that is packed before all these windows are read would differ
    /// from the batch of a stream that was not interrupted.
    fn has_restored_pool(&self) -> bool {
        self.next.1 > self.begun.next
    }

    /// Adds a window to the pool.
    fn add_to_pool(&mut self, row: TokenRow) -> Result<(), PackingFailure> {
        if self.begun.window_state(row.key()) == WindowState::Waiting {
            self.missing = self.missing.saturating_sub(1);
        } else {
            self.check_missing_windows()?;
            self.next = row.info.next_window();
            self.content_packed = row.info.content;
        }
        self.pool.add_window(row);
        Ok(())
    }

    /// Returns an error if the files lack a window that was in the pool at `begun`.
    fn check_missing_windows(&self) -> Result<(), PackingFailure> {
        if self.missing == 0 {
            return Ok(());
        }
        let why = "has changed since the state was saved: records that were read then are missing";
        let path = self.files.path(self.begun.from.file);
        let error = Error::format(path, Fault::of_file(why));
        Err(PackingFailure::Reading(error))
    }

    fn pack_batch(&mut self) -> Result<Option<PackedBatch>, PackingFailure> {
        let rows = self.pool.take_batch();
        let mut packed =
            PackedBatch::new(&rows, &self.buffer_pool).map_err(PackingFailure::Reading)?;
        packed.resume = self.resume_point();
        packed.met = self.tokeniser.take_character_counts();
        packed.met[FINAL_STOP_INDEX] += mem::take(&mut self.stops);
        Ok(Some(packed))
    }

    fn resume_point(&self) -> ResumePoint {
        let oldest = self.pool.iter().next();
        ResumePoint {
            from: oldest.map_or(self.next.0, |row| row.info.origin),
            next: self.next.1,
            content: self.content_packed,
            waiting: self.pool.iter().map(TokenRow::key).collect(),
        }
    }

    /// Reads more records and tokenises a group of windows. Returns true if the files may
    /// contain more records.
    fn refill_pool(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if self.record >= self.batch.len() {
            match self.files.read_batch(&mut self.batch) {
                Ok(Some(origin)) => (self.origin, self.record, self.start) = (origin, 0, 0),
                Ok(None) => return false,
                Err(error) => {
                    self.failed = Some(PackingFailure::Reading(error));
                    return false;
                }
            }
        }
        self.fill_group();
        self.tokenise_group();
        true
    }

    /// Splits records into windows until the group is full.
    fn fill_group(&mut self) {
        self.group.clear();
        while self.record < self.batch.len() && !self.group.is_full() {
            if let Err((origin, cause)) = self.split_record() {
                self.failed = Some(self.record_failure(origin, cause));
                return;
            }
        }
    }

    /// Splits the rest of a record into windows until the group is full.
    fn split_record(&mut self) -> Result<(), (Origin, Cause)> {
        let origin = self.origin.advance_by(self.record as u64);
        let (header, sequence) = header_and_sequence(&self.batch, self.record);
        let letters = self.tokeniser.strip_ignored(sequence);
        if self.start == 0 && !self.begun.has_hashed_record(origin.ordinal) {
            self.content = extend_hash(self.content, first_word(header), sequence);
            self.stops += i64::from(letters.len() < sequence.len());
        }
        if letters.is_empty() && !self.rule.keeps_empty {
            return Err((origin, Cause::Empty));
        }
        while !self.group.is_full() {
            let window = self.rule.cut.window(letters.len(), self.start);
            let info = || WindowInfo {
                origin,
                id: first_word(header).into(),
                letters: letters.len(),
                window,
                content: self.content,
            };
            let key = (origin.ordinal, window.start as u64);
            if self.begun.window_state(key) != WindowState::Done {
                self.rule
                    .check(&self.tokeniser, window)
                    .map_err(|cause| (origin, cause))?;
                self.group
                    .add_window(&letters[window.start..window.stop], info());
            }
            self.start = window.next.unwrap_or_default();
            if window.next.is_none() {
                self.record += 1;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Tokenises the windows of the group.
    fn tokenise_group(&mut self) {
        let group = &mut self.group;
        if group.infos.is_empty() {
            return;
        }
        let done = self.tokeniser.tokenise(&group.letters, &mut group.tokens);
        let before = self.queue.len();
        self.queue.extend(group.token_rows());
        if let Err(error) = done {
            self.failed = group.infos.first().map(|info| token_failure(info, error));
        }
        let is_long = |row: &TokenRow| row.size() > self.rule.capacity;
        // A window that is too long precedes the window that the tokeniser rejected, so
        // the error for the long window comes first.
        if let Some(position) = self.queue.iter().skip(before).position(is_long) {
            let long = &self.queue[before + position];
            self.failed = Some(long.info.failure(Cause::Long(long.size())));
            self.queue.truncate(before + position);
        }
    }

    /// Returns the error for the current record.
    fn record_failure(&self, origin: Origin, cause: Cause) -> PackingFailure {
        let (header, sequence) = header_and_sequence(&self.batch, self.record);
        PackingFailure::Record {
            origin,
            id: first_word(header).into(),
            letters: self.tokeniser.strip_ignored(sequence).len(),
            cause,
        }
    }
}

impl PackingRule {
    /// Returns an error if the tokeniser can compute the size of a window without its
    /// sequence, and the window is larger than a batch.
    fn check(&self, tokeniser: &impl Tokenise, window: TokenWindow) -> Result<(), Cause> {
        let size = tokeniser.size(window.stop - window.start);
        match size.filter(|size| *size > self.capacity) {
            Some(size) => Err(Cause::Long(size)),
            None => Ok(()),
        }
    }
}

impl WindowInfo {
    fn failure(&self, cause: Cause) -> PackingFailure {
        PackingFailure::Record {
            origin: self.origin,
            id: self.id.clone(),
            letters: self.letters,
            cause,
        }
    }
}

/// Returns the error for a window that could not be tokenised.
fn token_failure(info: &WindowInfo, mut error: Error) -> PackingFailure {
    if let Error::Letter { position, .. } = &mut error {
        *position += info.window.start;
    }
    info.failure(Cause::Tokens(error))
}

/// Returns the header and the sequence of a record.
fn header_and_sequence(batch: &Batch, record: usize) -> (&[u8], &[u8]) {
    let number = i64::try_from(record).unwrap_or(i64::MAX);
    let header = RaggedView::new(&batch.headers, &batch.header_offsets).get(number);
    let letters = RaggedView::new(&batch.data, &batch.offsets).get(number);
    (header.unwrap_or_default(), letters.unwrap_or_default())
}

/// Adds a record to the hash of all records.
fn extend_hash(content: u64, id: &[u8], letters: &[u8]) -> u64 {
    let parts = [content, xxh3_64(id), xxh3_64(letters)];
    xxh3_64(parts.map(u64::to_le_bytes).as_flattened())
}
