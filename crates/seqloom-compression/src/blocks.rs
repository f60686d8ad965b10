//! The text of a bgzip file, unpacked by several threads.
//!
//! A block is checked as a whole before any of it is used, and the file must
//! end with the empty block that says so: without it the file was cut.

use std::{io, mem};

use seqloom_core::error::Fault;

use super::bgzip::{BlockDecoder, LARGEST, SMALLEST_HEADER, block_size, cut, damaged, no_end};
use super::text::{Text, Trouble, UnpackOptions, gone};
use crate::input::{BufferedInput, forked, zeroed};
use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};

/// The text of a bgzip file, unpacked by several threads. The reader is one of them.
pub(super) struct BgzipText {
    input: BufferedInput,
    decoder: BlockDecoder,
    /// The run whose text is being used.
    run: BlockRun,
    spare: Vec<BlockRun>,
    /// No threads until the first run was used: most files are small.
    workers: Workers<BlockRun>,
    options: UnpackOptions,
    end: End,
}

/// The number of bytes at the beginning of a file by which its format is detected.
pub(super) const DETECT_BYTES: usize = 4096;

/// What follows the runs that were read.
enum End {
    /// More runs.
    Open,
    /// Nothing, once they are used: all is well, or this is wrong.
    Known(Result<(), Trouble>),
    /// All was said.
    Reached,
    Failed,
}

impl BgzipText {
    pub(super) fn new(input: BufferedInput, options: &UnpackOptions) -> io::Result<Self> {
        Ok(Self {
            input,
            decoder: BlockDecoder::new(),
            run: BlockRun::new()?,
            spare: Vec::new(),
            workers: Workers::start("seqloom-blocks", 0),
            options: options.clone(),
            end: End::Open,
        })
    }

    /// Makes the next run the current one.
    fn advance(&mut self) -> Result<(), Trouble> {
        if let Some(fault) = self.run.fault.take() {
            return Err(Trouble::Damage(fault));
        }
        if !self.workers.is_in_this_process() {
            return Err(forked().into());
        }
        self.push_runs()?;
        match self.workers.pop(&mut self.decoder) {
            Some(run) => self.spare.push(mem::replace(&mut self.run, run)),
            None => self.finish()?,
        }
        Ok(())
    }

    /// Queues enough runs to keep all threads busy.
    fn push_runs(&mut self) -> io::Result<()> {
        let threads = self.options.threads;
        if threads > 1 && self.workers.is_empty() && self.input.used() > 0 {
            self.workers = Workers::start("seqloom-blocks", threads - 1);
        }
        let enough = if self.workers.is_empty() {
            1
        } else {
            2 * threads
        };
        while matches!(self.end, End::Open) && self.workers.pending() < enough && self.may_read() {
            let mut run = self.spare.pop().map_or_else(BlockRun::new, Ok)?;
            self.read(&mut run);
            if run.packed.is_empty() {
                self.spare.push(run);
            } else {
                self.workers.push(run);
            }
        }
        Ok(())
    }

    /// Returns whether reading is allowed: it must not block while runs are pending.
    fn may_read(&self) -> bool {
        self.input.is_ready() || self.workers.pending() == 0
    }

    /// Reads whole blocks, up to the end or a fault.
    fn read(&mut self, run: &mut BlockRun) {
        run.at = self.input.used();
        run.packed.clear();
        for _ in 0..BLOCKS {
            if !run.packed.is_empty() && !self.input.is_ready() {
                return;
            }
            match self.block() {
                Ok(0) => {
                    self.end = End::Known(Ok(()));
                    return;
                }
                Ok(size) => {
                    run.packed.extend_from_slice(&self.input.waiting()[..size]);
                    self.input.consume(size);
                }
                Err(trouble) => {
                    self.end = End::Known(Err(trouble));
                    return;
                }
            }
        }
    }

    /// Reads the next block; its size is 0 at the end of the file.
    fn block(&mut self) -> Result<usize, Trouble> {
        let at = self.input.used();
        let start = self.input.fill(SMALLEST_HEADER)?;
        if start.is_empty() {
            return Ok(0);
        }
        let Some(size) = self.block_size()? else {
            if self.input.waiting().len() < SMALLEST_HEADER {
                return Err(Trouble::Damage(cut(self.input.size_so_far())));
            }
            return Err(Trouble::Damage(damaged(at, "no bgzip block begins there")));
        };
        if self.input.fill(size)?.len() < size {
            return Err(Trouble::Damage(cut(self.input.size_so_far())));
        }
        Ok(size)
    }

    /// Returns the block size in the next header. Reads more of the header if needed, because
    /// the field with the size may come after others.
    fn block_size(&mut self) -> io::Result<Option<usize>> {
        if let Some(size) = block_size(self.input.waiting()) {
            return Ok(Some(size));
        }
        Ok(block_size(self.input.fill(DETECT_BYTES)?))
    }

    fn finish(&mut self) -> Result<(), Trouble> {
        match mem::replace(&mut self.end, End::Reached) {
            End::Known(Err(trouble)) => Err(trouble),
            _ if self.options.require_eof && !self.run.ends_empty => {
                Err(Trouble::Damage(no_end(self.input.used())))
            }
            _ => Ok(()),
        }
    }
}

impl Text for BgzipText {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        while self.run.is_empty() && !matches!(self.end, End::Reached) {
            if matches!(self.end, End::Failed) {
                return Err(gone());
            }
            if let Err(trouble) = self.advance() {
                self.end = End::Failed;
                return Err(trouble);
            }
        }
        Ok(self.run.waiting())
    }

    fn consume(&mut self, count: usize) {
        self.run.start += count;
    }
}

/// How many blocks a run has at most.
const BLOCKS: usize = 8;

/// Consecutive blocks, and their text.
struct BlockRun {
    /// Where in the file the first block begins.
    at: u64,
    /// The blocks, all of them whole.
    packed: Vec<u8>,
    text: Vec<u8>,
    /// The text that was not used.
    start: usize,
    stop: usize,
    /// What is wrong with the block behind the text.
    fault: Option<Fault>,
    /// Whether the last block is empty, as the last one of a file must be.
    ends_empty: bool,
}

impl BlockRun {
    fn new() -> io::Result<Self> {
        Ok(Self {
            at: 0,
            packed: Vec::with_capacity(BLOCKS * LARGEST / 2),
            text: zeroed(BLOCKS * LARGEST)?,
            start: 0,
            stop: 0,
            fault: None,
            ends_empty: false,
        })
    }

    fn waiting(&self) -> &[u8] {
        &self.text[self.start..self.stop]
    }

    fn is_empty(&self) -> bool {
        self.start == self.stop
    }
}

impl Job for BlockRun {
    type Workspace = BlockDecoder;

    fn workspace(&self) -> BlockDecoder {
        BlockDecoder::new()
    }

    /// Unpacks block after block, up to one that is wrong.
    fn work(&mut self, decoder: &mut BlockDecoder) {
        (self.start, self.stop, self.fault) = (0, 0, None);
        let mut used = 0;
        while used < self.packed.len() {
            let rest = &self.packed[used..];
            let size = block_size(rest).unwrap_or(rest.len()).min(rest.len());
            match decoder.decode(&rest[..size], &mut self.text[self.stop..]) {
                Ok(count) => {
                    self.stop += count;
                    self.ends_empty = count == 0;
                }
                Err(why) => {
                    self.fault = Some(damaged(self.at + as_u64(used), &why));
                    return;
                }
            }
            used += size;
        }
    }

    fn fail(&mut self) {
        let message = "the bgzip data could not be unpacked: the thread that did so failed";
        self.fault = Some(Fault::compressed(self.at, message));
    }
}
