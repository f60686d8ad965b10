//! The interface of all tracks.

use std::path::Path;

use seqloom_core::error::Result;

use crate::block::BlockBuffer;
use crate::{BedGraph, BigWig};

/// A sequence of the genome; bedGraph files do not declare lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contig {
    /// The name.
    pub name: String,
    /// The number of bases, if it is known.
    pub length: Option<u32>,
}

/// The ranges of a contig that have values: starts, stops and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    /// The first position of each range, zero-based.
    pub starts: Vec<u32>,
    /// The position after the last position of each range.
    pub stops: Vec<u32>,
    /// The value of each range.
    pub values: Vec<f32>,
}

impl Entries {
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.stops.clear();
        self.values.clear();
    }

    pub(crate) fn push(&mut self, start: u32, stop: u32, value: f32) {
        self.starts.push(start);
        self.stops.push(stop);
        self.values.push(value);
    }

    pub(crate) fn get(&self, row: usize) -> Option<(u32, u32, f32)> {
        let stop = self.stops.get(row)?;
        Some((*self.starts.get(row)?, *stop, *self.values.get(row)?))
    }
}

/// A track of one file.
#[derive(Debug)]
pub enum Track {
    /// A bigWig file.
    BigWig(BigWig),
    /// A bedGraph file, which is in memory.
    BedGraph(BedGraph),
}

impl Track {
    /// Opens a file; the format is detected from its first bytes.
    pub fn open(path: &Path) -> Result<Self> {
        if BigWig::is_bigwig(path)? {
            return BigWig::open(path).map(Self::BigWig);
        }
        BedGraph::read(path).map(Self::BedGraph)
    }

    /// The sequences, in the order of the file.
    pub fn contigs(&self) -> &[Contig] {
        match self {
            Self::BigWig(track) => track.contigs(),
            Self::BedGraph(track) => track.contigs(),
        }
    }

    /// Returns the entries that overlap a range, in order.
    pub fn entries(&self, contig: usize, start: u32, stop: u32) -> Result<Entries> {
        let mut found = Entries::default();
        let mut visit = |start, stop, value| found.push(start, stop, value);
        self.visit(contig, start, stop, &mut BlockBuffer::default(), &mut visit)?;
        Ok(found)
    }

    /// Calls a function with the start, stop and value of each entry that overlaps a range.
    #[expect(
        clippy::too_many_arguments,
        reason = "a place, a buffer and a function"
    )]
    pub(crate) fn visit(
        &self,
        contig: usize,
        start: u32,
        stop: u32,
        buffer: &mut BlockBuffer,
        function: &mut impl FnMut(u32, u32, f32),
    ) -> Result<()> {
        match self {
            Self::BigWig(track) => track.visit(contig, start, stop, buffer, function),
            Self::BedGraph(track) => {
                track.visit(contig, start, stop, function);
                Ok(())
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::BigWig(track) => track.path(),
            Self::BedGraph(track) => track.path(),
        }
    }
}
