//! A run of bgzip blocks: what one thread unpacks at a time.

use std::io;

use seqloom_core::error::Fault;

use super::bgzip::{BlockDecoder, LARGEST, block_size};
use crate::input::zeroed;
use seqloom_core::number::as_u64;
use seqloom_core::workers::Job;

/// How many blocks a run has at most.
pub(super) const BLOCKS: usize = 8;

/// Blocks that follow each other, and their text.
pub(super) struct Run {
    /// Where in the file the first block begins.
    pub(super) at: u64,
    /// The blocks, all of them whole.
    pub(super) packed: Vec<u8>,
    pub(super) text: Vec<u8>,
    /// The text that was not used.
    pub(super) start: usize,
    pub(super) stop: usize,
    /// What is wrong with the block behind the text.
    pub(super) fault: Option<Fault>,
    /// Whether the last block is empty, as the last one of a file must be.
    pub(super) ends_empty: bool,
}

impl Run {
    pub(super) fn new() -> io::Result<Self> {
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

    pub(super) fn waiting(&self) -> &[u8] {
        &self.text[self.start..self.stop]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.stop
    }
}

impl Job for Run {
    type Tool = BlockDecoder;

    fn tool(&self) -> BlockDecoder {
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

/// What is said of a block that cannot be unpacked.
pub(super) fn damaged(at: u64, why: &str) -> Fault {
    Fault::compressed(
        at,
        format!("the bgzip block at byte {at} is damaged: {why}"),
    )
}
