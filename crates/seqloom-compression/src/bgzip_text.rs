//! The decompressed text of a bgzip file, read by several threads.
//!
//! Each block is checked completely before its text is returned. The last block of a
//! file must be empty; otherwise the file was truncated.

use std::{io, mem};

use seqloom_core::error::Fault;

use super::bgzip::{self, BlockDecoder, MAX_BLOCK_BYTES, MIN_HEADER_BYTES, bad_block, block_size};
use super::text::{ReadError, TextSource, UnpackOptions, already_failed_error};
use crate::input::{BufferedInput, fork_error, zeroed_vec};
use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};

/// The decompressed text of a bgzip file. Several threads decompress blocks, including
/// the reader's thread.
pub(super) struct BgzipText {
    input: BufferedInput,
    decoder: BlockDecoder,
    /// The run of blocks whose text is being read.
    run: BlockRun,
    spare: Vec<BlockRun>,
    /// The threads start only after the first run of blocks was read, because most files
    /// are too small to need threads.
    workers: Workers<BlockRun>,
    options: UnpackOptions,
    end: BgzipEnd,
}

/// Number of bytes that are read to detect the compression of a file.
pub(super) const DETECT_BYTES: usize = 4096;

/// The state of the file after the blocks that were read.
enum BgzipEnd {
    /// The file may contain more blocks.
    Open,
    /// The file was read to its end. This result is returned after the text of all
    /// blocks.
    Known(Result<(), ReadError>),
    /// The result of reading the file was returned.
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
            end: BgzipEnd::Open,
        })
    }

    /// Replaces the current run of blocks by the next one.
    fn next_run(&mut self) -> Result<(), ReadError> {
        if let Some(fault) = self.run.fault.take() {
            return Err(ReadError::Damage(fault));
        }
        if !self.workers.is_in_this_process() {
            return Err(fork_error().into());
        }
        self.push_runs()?;
        match self.workers.pop(&mut self.decoder) {
            Some(run) => self.spare.push(mem::replace(&mut self.run, run)),
            None => self.end_text()?,
        }
        Ok(())
    }

    /// Queues enough runs of blocks to keep all threads busy.
    fn push_runs(&mut self) -> io::Result<()> {
        let threads = self.options.threads;
        if threads > 1 && self.workers.is_empty() && self.input.position() > 0 {
            self.workers = Workers::start("seqloom-blocks", threads - 1);
        }
        let enough = if self.workers.is_empty() {
            1
        } else {
            2 * threads
        };
        while matches!(self.end, BgzipEnd::Open)
            && self.workers.pending() < enough
            && self.can_read()
        {
            let mut run = self.spare.pop().map_or_else(BlockRun::new, Ok)?;
            self.read_run(&mut run);
            if run.packed.is_empty() {
                self.spare.push(run);
            } else {
                self.workers.push(run);
            }
        }
        Ok(())
    }

    /// Returns true if the file may be read now. While runs of blocks are pending, only a
    /// read that need not wait is allowed.
    fn can_read(&self) -> bool {
        self.input.is_ready() || self.workers.pending() == 0
    }

    /// Reads whole blocks into a run, up to the end of the file or a corrupt block.
    fn read_run(&mut self, run: &mut BlockRun) {
        run.at = self.input.position();
        run.packed.clear();
        for _ in 0..MAX_RUN_BLOCKS {
            if !run.packed.is_empty() && !self.input.is_ready() {
                return;
            }
            match self.read_block() {
                Ok(0) => {
                    self.end = BgzipEnd::Known(Ok(()));
                    return;
                }
                Ok(size) => {
                    run.packed.extend_from_slice(&self.input.buffer()[..size]);
                    self.input.consume(size);
                }
                Err(error) => {
                    self.end = BgzipEnd::Known(Err(error));
                    return;
                }
            }
        }
    }

    /// Reads the next block and returns its size, which is 0 at the end of the file.
    fn read_block(&mut self) -> Result<usize, ReadError> {
        let at = self.input.position();
        let start = self.input.fill_to(MIN_HEADER_BYTES)?;
        if start.is_empty() {
            return Ok(0);
        }
        let Some(size) = self.read_block_size()? else {
            if self.input.buffer().len() < MIN_HEADER_BYTES {
                return Err(ReadError::Damage(bgzip::truncated_block(
                    self.input.bytes_read(),
                )));
            }
            return Err(ReadError::Damage(bad_block(
                at,
                "no bgzip block begins there",
            )));
        };
        if self.input.fill_to(size)?.len() < size {
            return Err(ReadError::Damage(bgzip::truncated_block(
                self.input.bytes_read(),
            )));
        }
        Ok(size)
    }

    /// Returns the block size from the next header. Reads more of the header if needed,
    /// because other subfields may come before the subfield with the size.
    fn read_block_size(&mut self) -> io::Result<Option<usize>> {
        if let Some(size) = block_size(self.input.buffer()) {
            return Ok(Some(size));
        }
        Ok(block_size(self.input.fill_to(DETECT_BYTES)?))
    }

    fn end_text(&mut self) -> Result<(), ReadError> {
        match mem::replace(&mut self.end, BgzipEnd::Reached) {
            BgzipEnd::Known(Err(error)) => Err(error),
            _ if self.options.require_eof && !self.run.ends_empty => Err(ReadError::Damage(
                bgzip::missing_end_block(self.input.position()),
            )),
            _ => Ok(()),
        }
    }
}

impl TextSource for BgzipText {
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        while self.run.is_empty() && !matches!(self.end, BgzipEnd::Reached) {
            if matches!(self.end, BgzipEnd::Failed) {
                return Err(already_failed_error());
            }
            if let Err(error) = self.next_run() {
                self.end = BgzipEnd::Failed;
                return Err(error);
            }
        }
        Ok(self.run.unread_text())
    }

    fn consume(&mut self, count: usize) {
        self.run.start += count;
    }
}

/// Maximal number of blocks in a run.
const MAX_RUN_BLOCKS: usize = 8;

/// Consecutive blocks and their text.
struct BlockRun {
    /// The offset of the first block in the file.
    at: u64,
    /// The compressed blocks, all of them complete.
    packed: Vec<u8>,
    text: Vec<u8>,
    /// The offset of the unread text.
    start: usize,
    stop: usize,
    /// The error of the block that follows the text.
    fault: Option<Fault>,
    /// True if the last block is empty, as required at the end of a file.
    ends_empty: bool,
}

impl BlockRun {
    fn new() -> io::Result<Self> {
        Ok(Self {
            at: 0,
            packed: Vec::with_capacity(MAX_RUN_BLOCKS * MAX_BLOCK_BYTES / 2),
            text: zeroed_vec(MAX_RUN_BLOCKS * MAX_BLOCK_BYTES)?,
            start: 0,
            stop: 0,
            fault: None,
            ends_empty: false,
        })
    }

    fn unread_text(&self) -> &[u8] {
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

    /// Decompresses the blocks up to the first corrupt block.
    fn run(&mut self, decoder: &mut BlockDecoder) {
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
                    self.fault = Some(bad_block(self.at + as_u64(used), &why));
                    return;
                }
            }
            used += size;
        }
    }

    fn mark_failed(&mut self) {
        let message = "the bgzip data could not be unpacked: the thread failed";
        self.fault = Some(Fault::in_compressed_data(self.at, message));
    }
}
