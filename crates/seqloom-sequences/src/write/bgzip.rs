//! Writes bgzip: several threads compress blocks of text independently.

use std::io::{self, Write};

use sirocco::Format;
use sirocco::deflate::{Encoder, Flush, Level, compress_bound};

use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};

/// The destination to which a file is written.
pub type WriteTarget = Box<dyn Write + Send + Sync>;

/// The number of bytes of text in a block, as in `bgzip`. With this size, even a block
/// of incompressible text is smaller than 64 KiB.
const BLOCK_TEXT_BYTES: usize = 0xFF00;
/// The number of blocks that a thread compresses at a time.
const BLOCKS_PER_JOB: usize = 8;
/// The gzip header of a block, with an extra field for the size of the block.
const BLOCK_HEADER: [u8; 16] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0,
];
/// The size in bytes of the gzip header that the library sirocco writes.
const GZIP_HEADER: usize = 10;
/// The empty block that ends a file (SAM specification, section 4.1.2).
const EOF_BLOCK: [u8; 28] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0, 0x1B, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// A compressor that splits text into blocks.
pub(super) struct BgzipWriter {
    target: WriteTarget,
    workers: Workers<PackJob>,
    workspace: BlockEncoder,
    level: Level,
    /// The maximum number of jobs in progress, enough to keep all threads busy.
    max_pending: usize,
    job: PackJob,
    spare: Vec<PackJob>,
    /// The offset of each block in the compressed file, and in the text.
    blocks: Vec<(u64, u64)>,
    at: (u64, u64),
}

impl BgzipWriter {
    pub(super) fn new(target: WriteTarget, level: Level, threads: usize) -> Self {
        let helpers = threads.saturating_sub(1);
        let job = PackJob::new(level);
        Self {
            target,
            workers: Workers::start("seqloom-blocks", helpers),
            workspace: job.workspace(),
            level,
            max_pending: if helpers == 0 { 1 } else { 2 * threads },
            job,
            spare: Vec::new(),
            blocks: Vec::new(),
            at: (0, 0),
        }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let capacity = BLOCK_TEXT_BYTES * BLOCKS_PER_JOB - self.job.text.len();
            let (now, later) = rest.split_at(capacity.min(rest.len()));
            self.job.text.extend_from_slice(now);
            rest = later;
            if now.len() == capacity {
                self.submit_job()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, blocks: &mut Vec<(u64, u64)>) -> io::Result<WriteTarget> {
        self.submit_job()?;
        while self.workers.pending() > 0 {
            self.write_next_job()?;
        }
        self.target.write_all(&EOF_BLOCK)?;
        *blocks = self.blocks.split_off(self.blocks.len().min(1));
        Ok(self.target)
    }

    /// Submits the current compression job, and begins the next one.
    fn submit_job(&mut self) -> io::Result<()> {
        let next = self.spare.pop().unwrap_or_else(|| PackJob::new(self.level));
        self.workers.push(std::mem::replace(&mut self.job, next));
        while self.workers.pending() >= self.max_pending {
            self.write_next_job()?;
        }
        Ok(())
    }

    /// Writes the compressed blocks of the next job in order.
    fn write_next_job(&mut self) -> io::Result<()> {
        let Some(mut job) = self.workers.pop(&mut self.workspace) else {
            return Ok(());
        };
        if !job.is_done {
            return Err(io::Error::other("bgzip compression failed in a thread"));
        }
        self.target.write_all(&job.packed)?;
        for (packed, text) in &job.sizes {
            self.blocks.push(self.at);
            self.at = (self.at.0 + as_u64(*packed), self.at.1 + as_u64(*text));
        }
        job.clear();
        self.spare.push(job);
        Ok(())
    }
}

/// Consecutive blocks that one thread compresses.
struct PackJob {
    level: Level,
    text: Vec<u8>,
    packed: Vec<u8>,
    /// The compressed size and the text size of each block.
    sizes: Vec<(usize, usize)>,
    is_done: bool,
}

/// Compresses blocks. Text that would become larger is stored without compression.
struct BlockEncoder {
    compressing: Encoder,
    storing: Encoder,
    buffer: Vec<u8>,
}

impl PackJob {
    fn new(level: Level) -> Self {
        Self {
            level,
            text: Vec::with_capacity(BLOCK_TEXT_BYTES * BLOCKS_PER_JOB),
            packed: Vec::new(),
            sizes: Vec::with_capacity(BLOCKS_PER_JOB),
            is_done: false,
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.packed.clear();
        self.sizes.clear();
        self.is_done = false;
    }
}

impl Job for PackJob {
    type Workspace = BlockEncoder;

    fn workspace(&self) -> BlockEncoder {
        BlockEncoder {
            compressing: Encoder::new(Format::Gzip, self.level),
            storing: Encoder::new(Format::Gzip, Level::NONE),
            buffer: vec![0; compress_bound(Format::Gzip, BLOCK_TEXT_BYTES)],
        }
    }

    fn run(&mut self, workspace: &mut BlockEncoder) {
        self.is_done = self.text.chunks(BLOCK_TEXT_BYTES).all(|text| {
            let before = self.packed.len();
            let is_packed = workspace.pack_block(text, &mut self.packed);
            self.sizes.push((self.packed.len() - before, text.len()));
            is_packed
        });
    }

    fn mark_failed(&mut self) {
        self.is_done = false;
    }
}

impl BlockEncoder {
    /// Appends a block of compressed text or, if the compressed block is too large, of
    /// uncompressed text. Returns true if a block was appended.
    fn pack_block(&mut self, text: &[u8], packed: &mut Vec<u8>) -> bool {
        pack_block(&mut self.compressing, text, &mut self.buffer, packed)
            || pack_block(&mut self.storing, text, &mut self.buffer, packed)
    }
}

/// Appends a block. Returns false if the block would be too large.
fn pack_block(encoder: &mut Encoder, text: &[u8], buffer: &mut [u8], packed: &mut Vec<u8>) -> bool {
    let progress = encoder.compress(text, buffer, Flush::Finish);
    let is_whole = progress.done;
    let Some(body) = progress.output.get(GZIP_HEADER..).filter(|_| is_whole) else {
        encoder.reset();
        return false;
    };
    let Ok(size) = u16::try_from(BLOCK_HEADER.len() + 2 + body.len() - 1) else {
        return false;
    };
    packed.extend_from_slice(&BLOCK_HEADER);
    packed.extend_from_slice(&size.to_le_bytes());
    packed.extend_from_slice(body);
    true
}
