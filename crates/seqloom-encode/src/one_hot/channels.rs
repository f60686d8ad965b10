//! One-hot encoding with channels first. Each number of the output is computed by one
//! comparison.

use std::array;

use super::OneHot;
use crate::ElementBits;
use crate::letters::{CHUNK_RESIDUES, ChunkFlags};

/// The number of elements that are written together. This number of 4-byte elements
/// fills one cache line.
const LINE_ELEMENTS: usize = 16;

/// The size and alignment of a cache line in bytes.
const LINE_BYTES: usize = 64;

impl<T: ElementBits> OneHot<T> {
    /// Encodes a sequence by comparing its residues with the residue of each channel.
    /// Returns the flags for plain and lower-case residues.
    #[inline(always)]
    pub(super) fn fill_channels(&self, letters: &[u8], row: &mut [T]) -> ChunkFlags {
        let flags = self.letters.scan_sequence(letters);
        let length = self.channel_length(row);
        for (channel, member) in self.letters.residues().iter().enumerate() {
            self.fill_channel(
                letters,
                *member,
                &mut row[channel * length..][..letters.len()],
            );
        }
        self.fill_padding((letters.len(), length), row);
        flags
    }

    /// Returns the length of a channel. The length is computed only once, because a
    /// division takes as long as encoding ten residues.
    #[inline(always)]
    fn channel_length(&self, row: &[T]) -> usize {
        match self.channels() {
            4 => row.len() / 4,
            width => row.len() / width,
        }
    }

    /// Writes 1 at the positions of the channel's residue, and 0 at all other
    /// positions. Except for its two ends, a channel is written in whole cache lines,
    /// because a write across two cache lines takes twice as long.
    #[inline(always)]
    fn fill_channel(&self, letters: &[u8], member: u8, out: &mut [T]) {
        let (Some(first), Some(last)) = (letters.first_chunk(), letters.last_chunk()) else {
            for (number, letter) in out.iter_mut().zip(letters) {
                self.compare_residues(&[*letter], member, array::from_mut(number));
            }
            return;
        };
        if let Some(part) = out.first_chunk_mut() {
            self.compare_residues::<LINE_ELEMENTS>(first, member, part);
        }
        let skipped = out.as_ptr().align_offset(LINE_BYTES).min(LINE_ELEMENTS);
        self.fill_blocks(&letters[skipped..], member, &mut out[skipped..]);
        if let Some(part) = out.last_chunk_mut() {
            self.compare_residues::<LINE_ELEMENTS>(last, member, part);
        }
    }

    /// Writes whole cache lines; the caller writes the remaining elements.
    #[inline(always)]
    fn fill_blocks(&self, letters: &[u8], member: u8, out: &mut [T]) {
        let (chunks, rest) = letters.as_chunks::<CHUNK_RESIDUES>();
        let (parts, others) = out.as_chunks_mut::<CHUNK_RESIDUES>();
        for (chunk, part) in chunks.iter().zip(parts) {
            self.compare_residues(chunk, member, part);
        }
        let runs = rest.as_chunks::<LINE_ELEMENTS>().0;
        let parts = others.as_chunks_mut::<LINE_ELEMENTS>().0;
        for (run, part) in runs.iter().zip(parts) {
            self.compare_residues(run, member, part);
        }
    }

    #[inline(always)]
    fn compare_residues<const N: usize>(&self, letters: &[u8; N], member: u8, out: &mut [T; N]) {
        let (one, zero) = (self.one, T::from_bits(0));
        let upper = self.letters.to_upper(letters);
        for at in 0..N {
            out[at] = if upper[at] == member { one } else { zero };
        }
    }

    /// Writes zeros after the last residue of each channel.
    #[inline(always)]
    fn fill_padding(&self, (letters, length): (usize, usize), row: &mut [T]) {
        let padded = if letters < length { self.channels() } else { 0 };
        for channel in 0..padded {
            row[channel * length..][letters..length].fill(T::from_bits(0));
        }
    }

    /// Overwrites the positions of residues that are not encoded as a single 1, such as
    /// ambiguity codes.
    #[cold]
    pub(super) fn fill_special_residues(&self, letters: &[u8], row: &mut [T]) {
        let length = self.channel_length(row);
        let differs = |byte: u8| self.differs[usize::from(byte)];
        let residues = letters.iter().enumerate();
        for (position, byte) in residues.filter(|(_, byte)| differs(**byte)) {
            for (channel, number) in self.byte_channels(*byte).iter().enumerate() {
                row[channel * length + position] = *number;
            }
        }
    }
}
