//! Packed batches, one after the other.

use std::collections::VecDeque;
use std::mem;

use seqloom_core::error::Fault;
use seqloom_core::{BufferPool, Error};
use seqloom_sequences::Batch;
use xxhash_rust::xxh3::xxh3_64;

use super::batch::PackedBatch;
use super::cut::{TokenWindow, WindowCutter};
use super::files::RecordFiles;
use super::group::WindowGroup;
use super::pool::WindowPool;
use super::resume::{ResumePoint, WindowState};
use super::row::{Origin, TokenRow, WindowInfo};
use super::tokens::Tokenise;
use crate::gather::{RaggedView, first_word};

/// Where a batch counts final stops (`*`) that the tokeniser left out, among its counts of
/// unusual letters.
const FINAL_STOPS: usize = 4;

/// The rules by which batches are packed.
#[derive(Clone, Copy, Debug)]
pub struct PackingRule {
    /// The most tokens in a batch.
    pub capacity: usize,
    /// How many windows wait at least before a batch is chosen among them.
    pub window: usize,
    /// How records are cut.
    pub cut: WindowCutter,
    /// Whether a record without letters is taken.
    pub keeps_empty: bool,
}

/// Why there is no further batch.
#[derive(Clone, Debug)]
pub enum PackingFailure {
    /// A file cannot be read on.
    Reading(Error),
    /// A record cannot be packed.
    Record {
        /// Where it stands.
        origin: Origin,
        /// Its id.
        id: Box<[u8]>,
        /// How many letters it has.
        letters: usize,
        /// What is wrong.
        cause: Cause,
    },
}

/// Why a record cannot be packed.
#[derive(Clone, Debug)]
pub enum Cause {
    /// It has no letter.
    Empty,
    /// It has so many tokens, more than a batch holds.
    Long(usize),
    /// It was not turned into tokens; a letter's position counts from the record's first.
    Tokens(Error),
}

/// Reads, cuts, turns into tokens, and packs.
pub struct BatchStream<T> {
    files: RecordFiles,
    rule: PackingRule,
    tokeniser: T,
    buffer_pool: BufferPool<u32>,
    /// What was read last, where it stands, and the window of it that comes next.
    batch: Batch,
    origin: Origin,
    record: usize,
    start: usize,
    group: WindowGroup,
    /// Windows with their tokens, before they wait in the pool.
    queue: VecDeque<TokenRow>,
    pool: WindowPool,
    /// The position at which the stream began or was resumed.
    begun: ResumePoint,
    /// Windows that waited there and were not read again yet.
    missing: usize,
    /// What comes behind the last window that was put into the pool: its record, and its key.
    next: (Origin, (u64, u64)),
    /// The hash of all that was put into the pool.
    content_packed: u64,
    /// The hash of all that was read.
    content: u64,
    /// Final stops since the last batch.
    stops: i64,
    failed: Option<PackingFailure>,
}

impl<T: Tokenise> BatchStream<T> {
    /// Resumes at a position, where `files` begins.
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

    /// The next batch; nothing behind the last one. What was read before a failure is handed
    /// out first.
    pub fn next_batch(&mut self) -> Result<Option<PackedBatch>, PackingFailure> {
        loop {
            while let Some(row) = self.queue.pop_front() {
                self.admit(row)?;
                if self.has_caught_up() && self.pool.is_full() {
                    return self.pack();
                }
            }
            if !self.refill() {
                break;
            }
        }
        if !self.pool.is_empty() {
            return self.pack();
        }
        match &self.failed {
            Some(failure) => Err(failure.clone()),
            None => self.check_found().map(|()| None),
        }
    }

    /// A hash of the ids and letters of all records so far, in order.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// Whether all that the pool held at the place of the beginning is there again. Until then
    /// no batch is packed: it would differ from what a stream without a stop packs.
    fn has_caught_up(&self) -> bool {
        self.next.1 > self.begun.next
    }

    /// Puts a window into the pool.
    fn admit(&mut self, row: TokenRow) -> Result<(), PackingFailure> {
        if self.begun.state_of(row.key()) == WindowState::Waiting {
            self.missing = self.missing.saturating_sub(1);
        } else {
            self.check_found()?;
            self.next = row.info.next();
            self.content_packed = row.info.content;
        }
        self.pool.add(row);
        Ok(())
    }

    /// Whether all that waited where the stream began has come.
    fn check_found(&self) -> Result<(), PackingFailure> {
        if self.missing == 0 {
            return Ok(());
        }
        let why = "has changed since the state was saved: records that were read then are missing";
        let path = self.files.path(self.begun.from.file);
        let error = Error::format(path, Fault::whole(why));
        Err(PackingFailure::Reading(error))
    }

    fn pack(&mut self) -> Result<Option<PackedBatch>, PackingFailure> {
        let rows = self.pool.take();
        let mut packed =
            PackedBatch::new(&rows, &self.buffer_pool).map_err(PackingFailure::Reading)?;
        packed.resume = self.resume();
        packed.met = self.tokeniser.met();
        packed.met[FINAL_STOPS] += mem::take(&mut self.stops);
        Ok(Some(packed))
    }

    fn resume(&self) -> ResumePoint {
        let oldest = self.pool.iter().next();
        ResumePoint {
            from: oldest.map_or(self.next.0, |row| row.info.origin),
            next: self.next.1,
            content: self.content_packed,
            waiting: self.pool.iter().map(TokenRow::key).collect(),
        }
    }

    /// Reads more records, and turns some windows into tokens; returns whether to continue.
    fn refill(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if self.record >= self.batch.len() {
            match self.files.read(&mut self.batch) {
                Ok(Some(origin)) => (self.origin, self.record, self.start) = (origin, 0, 0),
                Ok(None) => return false,
                Err(error) => {
                    self.failed = Some(PackingFailure::Reading(error));
                    return false;
                }
            }
        }
        self.gather();
        self.tokenise();
        true
    }

    /// Cuts records into windows, until there are some.
    fn gather(&mut self) {
        self.group.clear();
        while self.record < self.batch.len() && !self.group.is_full() {
            if let Err((origin, cause)) = self.cut_record() {
                self.failed = Some(self.record_failure(origin, cause));
                return;
            }
        }
    }

    /// Cuts what is left of a record, or as much as the group takes.
    fn cut_record(&mut self) -> Result<(), (Origin, Cause)> {
        let origin = self.origin.plus(self.record as u64);
        let (header, sequence) = header_and_letters(&self.batch, self.record);
        let letters = self.tokeniser.strip(sequence);
        if self.start == 0 && !self.begun.has_hashed(origin.ordinal) {
            self.content = chain(self.content, first_word(header), sequence);
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
            if self.begun.state_of(key) != WindowState::Done {
                self.rule
                    .check(&self.tokeniser, window)
                    .map_err(|cause| (origin, cause))?;
                self.group.push(&letters[window.start..window.stop], info());
            }
            self.start = window.next.unwrap_or_default();
            if window.next.is_none() {
                self.record += 1;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Turns the windows of the group into tokens.
    fn tokenise(&mut self) {
        let group = &mut self.group;
        if group.infos.is_empty() {
            return;
        }
        let done = self.tokeniser.tokenise(&group.letters, &mut group.tokens);
        let before = self.queue.len();
        self.queue.extend(group.rows());
        if let Err(error) = done {
            self.failed = group.infos.first().map(|info| token_failure(info, error));
        }
        let is_long = |row: &TokenRow| row.size() > self.rule.capacity;
        // A window that is too long stands before one that the tokeniser refused, so that its
        // failure is the first in the order of the file.
        if let Some(position) = self.queue.iter().skip(before).position(is_long) {
            let long = &self.queue[before + position];
            self.failed = Some(long.info.failure(Cause::Long(long.size())));
            self.queue.truncate(before + position);
        }
    }

    /// The failure of a record of the batch.
    fn record_failure(&self, origin: Origin, cause: Cause) -> PackingFailure {
        let (header, sequence) = header_and_letters(&self.batch, self.record);
        PackingFailure::Record {
            origin,
            id: first_word(header).into(),
            letters: self.tokeniser.strip(sequence).len(),
            cause,
        }
    }
}

impl PackingRule {
    /// Refuses a window that is larger than a batch, where that is known.
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

/// The failure of a window that was not turned into tokens.
fn token_failure(info: &WindowInfo, mut error: Error) -> PackingFailure {
    if let Error::Letter { position, .. } = &mut error {
        *position += info.window.start;
    }
    info.failure(Cause::Tokens(error))
}

/// The header and the letters of a record.
fn header_and_letters(batch: &Batch, record: usize) -> (&[u8], &[u8]) {
    let number = i64::try_from(record).unwrap_or(i64::MAX);
    let header = RaggedView::new(&batch.headers, &batch.header_offsets).get(number);
    let letters = RaggedView::new(&batch.data, &batch.offsets).get(number);
    (header.unwrap_or_default(), letters.unwrap_or_default())
}

/// The hash of content and one more record.
fn chain(content: u64, id: &[u8], letters: &[u8]) -> u64 {
    let parts = [content, xxh3_64(id), xxh3_64(letters)];
    xxh3_64(parts.map(u64::to_le_bytes).as_flattened())
}
