//! Bgzip: each block of text packed by itself, by several threads.

use std::io::{self, Write};

use sirocco::Format;
use sirocco::deflate::{Encoder, Flush, Level, compress_bound};

use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};

/// The destination of a file.
pub type WriteTarget = Box<dyn Write + Send + Sync>;

/// The text of a block: what `bgzip` takes too, so that even text that cannot
/// be packed stays below 64 KiB.
const BLOCK_SIZE: usize = 0xFF00;
/// How many blocks one thread packs at a time.
const JOB_BLOCKS: usize = 8;
/// A gzip header with the extra field that holds the block's size.
const HEADER: [u8; 16] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0,
];
/// What sirocco puts before the packed data.
const PLAIN_HEADER: usize = 10;
/// The empty block that ends a file (SAM specification, section 4.1.2).
const END: [u8; 28] = [
    0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 6, 0, b'B', b'C', 2, 0, 0x1B, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// Packs text into blocks.
pub(super) struct BgzipWriter {
    target: WriteTarget,
    workers: Workers<PackJob>,
    workspace: BlockEncoder,
    level: Level,
    /// The number of jobs that keep all threads busy.
    enough: usize,
    run: PackJob,
    spare: Vec<PackJob>,
    /// Where each block begins, in the file and in the text.
    blocks: Vec<(u64, u64)>,
    at: (u64, u64),
}

impl BgzipWriter {
    pub(super) fn new(target: WriteTarget, level: Level, threads: usize) -> Self {
        let others = threads.saturating_sub(1);
        let run = PackJob::new(level);
        Self {
            target,
            workers: Workers::start("seqloom-blocks", others),
            workspace: run.workspace(),
            level,
            enough: if others == 0 { 1 } else { 2 * threads },
            run,
            spare: Vec::new(),
            blocks: Vec::new(),
            at: (0, 0),
        }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let capacity = BLOCK_SIZE * JOB_BLOCKS - self.run.text.len();
            let (now, later) = rest.split_at(capacity.min(rest.len()));
            self.run.text.extend_from_slice(now);
            rest = later;
            if now.len() == capacity {
                self.push()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, blocks: &mut Vec<(u64, u64)>) -> io::Result<WriteTarget> {
        self.push()?;
        while self.workers.pending() > 0 {
            self.pop()?;
        }
        self.target.write_all(&END)?;
        *blocks = self.blocks.split_off(self.blocks.len().min(1));
        Ok(self.target)
    }

    /// Has the current run packed, and begins another.
    fn push(&mut self) -> io::Result<()> {
        let fresh = self.spare.pop().unwrap_or_else(|| PackJob::new(self.level));
        self.workers.push(std::mem::replace(&mut self.run, fresh));
        while self.workers.pending() >= self.enough {
            self.pop()?;
        }
        Ok(())
    }

    /// Writes the next run in order.
    fn pop(&mut self) -> io::Result<()> {
        let Some(mut run) = self.workers.pop(&mut self.workspace) else {
            return Ok(());
        };
        if !run.is_done {
            return Err(io::Error::other("could not be packed: a thread has failed"));
        }
        self.target.write_all(&run.packed)?;
        for (packed, text) in &run.sizes {
            self.blocks.push(self.at);
            self.at = (self.at.0 + as_u64(*packed), self.at.1 + as_u64(*text));
        }
        run.clear();
        self.spare.push(run);
        Ok(())
    }
}

/// Consecutive blocks, which one thread packs.
struct PackJob {
    level: Level,
    text: Vec<u8>,
    packed: Vec<u8>,
    /// The size of each block, packed and not.
    sizes: Vec<(usize, usize)>,
    is_done: bool,
}

/// Packs blocks, and stores those that packing would make larger.
struct BlockEncoder {
    packing: Encoder,
    storing: Encoder,
    buffer: Vec<u8>,
}

impl PackJob {
    fn new(level: Level) -> Self {
        Self {
            level,
            text: Vec::with_capacity(BLOCK_SIZE * JOB_BLOCKS),
            packed: Vec::new(),
            sizes: Vec::with_capacity(JOB_BLOCKS),
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
            packing: Encoder::new(Format::Gzip, self.level),
            storing: Encoder::new(Format::Gzip, Level::NONE),
            buffer: vec![0; compress_bound(Format::Gzip, BLOCK_SIZE)],
        }
    }

    fn work(&mut self, workspace: &mut BlockEncoder) {
        self.is_done = self.text.chunks(BLOCK_SIZE).all(|text| {
            let before = self.packed.len();
            let is_packed = workspace.pack(text, &mut self.packed);
            self.sizes.push((self.packed.len() - before, text.len()));
            is_packed
        });
    }

    fn fail(&mut self) {
        self.is_done = false;
    }
}

impl BlockEncoder {
    /// Appends a block; returns whether it was possible.
    fn pack(&mut self, text: &[u8], packed: &mut Vec<u8>) -> bool {
        pack(&mut self.packing, text, &mut self.buffer, packed)
            || pack(&mut self.storing, text, &mut self.buffer, packed)
    }
}

/// Appends a block, unless it would be too large.
fn pack(encoder: &mut Encoder, text: &[u8], buffer: &mut [u8], packed: &mut Vec<u8>) -> bool {
    let progress = encoder.compress(text, buffer, Flush::Finish);
    let is_whole = progress.done;
    let Some(body) = progress.output.get(PLAIN_HEADER..).filter(|_| is_whole) else {
        encoder.reset();
        return false;
    };
    let Ok(size) = u16::try_from(HEADER.len() + 2 + body.len() - 1) else {
        return false;
    };
    packed.extend_from_slice(&HEADER);
    packed.extend_from_slice(&size.to_le_bytes());
    packed.extend_from_slice(body);
    true
}
