//! Channel by channel: one comparison for each number.

use std::array;

use super::OneHot;
use crate::Word;
use crate::letters::{CHUNK, ChunkFlags};

/// Numbers that are written together: a line of the cache, where they have four bytes.
const RUN: usize = 16;

/// What a line of the cache begins on.
const LINE: usize = 64;

impl<T: Word> OneHot<T> {
    /// Writes a row by comparing the letters with each member; returns the flags of the letters.
    #[inline(always)]
    pub(super) fn fill_channels(&self, letters: &[u8], row: &mut [T]) -> ChunkFlags {
        let flags = self.letters.scan(letters);
        let positions = self.positions(row);
        for (channel, member) in self.letters.members().iter().enumerate() {
            self.fill_channel(
                letters,
                *member,
                &mut row[channel * positions..][..letters.len()],
            );
        }
        self.fill_padding((letters.len(), positions), row);
        flags
    }

    /// The positions of a channel. A division costs as much as ten letters.
    #[inline(always)]
    fn positions(&self, row: &[T]) -> usize {
        match self.width() {
            4 => row.len() / 4,
            width => row.len() / width,
        }
    }

    /// A one wherever the member stands. All but the ends is written by whole lines of the
    /// cache: what crosses their borders costs twice as much.
    #[inline(always)]
    fn fill_channel(&self, letters: &[u8], member: u8, out: &mut [T]) {
        let (Some(first), Some(last)) = (letters.first_chunk(), letters.last_chunk()) else {
            for (number, letter) in out.iter_mut().zip(letters) {
                self.compare(&[*letter], member, array::from_mut(number));
            }
            return;
        };
        if let Some(part) = out.first_chunk_mut() {
            self.compare::<RUN>(first, member, part);
        }
        let skipped = out.as_ptr().align_offset(LINE).min(RUN);
        self.fill_lines(&letters[skipped..], member, &mut out[skipped..]);
        if let Some(part) = out.last_chunk_mut() {
            self.compare::<RUN>(last, member, part);
        }
    }

    /// As many whole runs as there are.
    #[inline(always)]
    fn fill_lines(&self, letters: &[u8], member: u8, out: &mut [T]) {
        let (chunks, rest) = letters.as_chunks::<CHUNK>();
        let (parts, others) = out.as_chunks_mut::<CHUNK>();
        for (chunk, part) in chunks.iter().zip(parts) {
            self.compare(chunk, member, part);
        }
        let (runs, parts) = (rest.as_chunks::<RUN>().0, others.as_chunks_mut::<RUN>().0);
        for (run, part) in runs.iter().zip(parts) {
            self.compare(run, member, part);
        }
    }

    #[inline(always)]
    fn compare<const N: usize>(&self, letters: &[u8; N], member: u8, out: &mut [T; N]) {
        let (one, zero) = (self.one, T::cut(0));
        let upper = self.letters.raised(letters);
        for at in 0..N {
            out[at] = if upper[at] == member { one } else { zero };
        }
    }

    /// Zeros behind the letters of each channel.
    #[inline(always)]
    fn fill_padding(&self, (letters, positions): (usize, usize), row: &mut [T]) {
        let padded = if letters < positions { self.width() } else { 0 };
        for channel in 0..padded {
            row[channel * positions..][letters..positions].fill(T::cut(0));
        }
    }

    /// Overwrites the positions of letters that are not as a comparison gives them.
    #[cold]
    pub(super) fn fill_differing(&self, letters: &[u8], row: &mut [T]) {
        let positions = self.positions(row);
        let differs = |byte: u8| self.differs[usize::from(byte)];
        let found = letters.iter().enumerate();
        for (position, byte) in found.filter(|(_, byte)| differs(**byte)) {
            for (channel, number) in self.row(*byte).iter().enumerate() {
                row[channel * positions + position] = *number;
            }
        }
    }
}
