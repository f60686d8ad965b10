//! Channel by channel: one comparison for each number.

use super::OneHot;
use crate::Word;
use crate::letters::{CHUNK, Seen};

impl<T: Word + PartialEq> OneHot<T> {
    /// Writes a row as a comparison with each member gives it, and tells what was seen.
    #[inline(always)]
    pub(super) fn fill_channels(&self, letters: &[u8], row: &mut [T]) -> Seen {
        let mut seen = Seen::NOTHING;
        let places = self.places(row);
        let (chunks, rest) = letters.as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            self.fill_chunk(chunk, (&mut row[number * CHUNK..], places), &mut seen);
        }
        match letters.last_chunk::<CHUNK>() {
            _ if rest.is_empty() => {}
            // The last letters again with some before them: a whole chunk is faster than a
            // part.
            Some(last) => {
                let part = &mut row[letters.len() - CHUNK..];
                self.fill_chunk(last, (part, places), &mut seen);
            }
            None => self.fill_part(rest, (row, places), &mut seen),
        }
        self.fill_padding((letters.len(), places), row);
        seen
    }

    /// The places of a channel. A division costs as much as ten letters.
    #[inline(always)]
    fn places(&self, row: &[T]) -> usize {
        match self.width() {
            4 => row.len() / 4,
            width => row.len() / width,
        }
    }

    /// A chunk of letters into the first places of each channel.
    #[inline(always)]
    fn fill_chunk(&self, letters: &[u8; CHUNK], (row, places): (&mut [T], usize), seen: &mut Seen) {
        let upper = self.letters.look_at(letters, seen);
        for (channel, member) in self.letters.members().iter().enumerate() {
            if let Some(part) = row[channel * places..].first_chunk_mut::<CHUNK>() {
                self.compare(&upper, *member, part);
            }
        }
    }

    /// Fewer letters than a chunk.
    #[inline(always)]
    fn fill_part(&self, letters: &[u8], (row, places): (&mut [T], usize), seen: &mut Seen) {
        let mut chunk = [self.letters.members()[0]; CHUNK];
        chunk[..letters.len()].copy_from_slice(letters);
        let upper = self.letters.look_at(&chunk, seen);
        for (channel, member) in self.letters.members().iter().enumerate() {
            let mut part = [T::cut(0); CHUNK];
            self.compare(&upper, *member, &mut part);
            row[channel * places..][..letters.len()].copy_from_slice(&part[..letters.len()]);
        }
    }

    /// A one wherever the member stands.
    #[inline(always)]
    fn compare(&self, letters: &[u8; CHUNK], member: u8, out: &mut [T; CHUNK]) {
        let (one, zero) = (self.one, T::cut(0));
        for at in 0..CHUNK {
            out[at] = if letters[at] == member { one } else { zero };
        }
    }

    /// Zeros behind the letters of each channel.
    #[inline(always)]
    fn fill_padding(&self, (letters, places): (usize, usize), row: &mut [T]) {
        let padded = if letters < places { self.width() } else { 0 };
        for channel in 0..padded {
            row[channel * places..][letters..places].fill(T::cut(0));
        }
    }

    /// Overwrites the places of letters that are not as a comparison gives them.
    #[cold]
    pub(super) fn fill_differing(&self, letters: &[u8], row: &mut [T]) {
        let places = self.places(row);
        let differs = |byte: u8| self.differs[usize::from(byte)];
        let found = letters.iter().enumerate();
        for (place, byte) in found.filter(|(_, byte)| differs(**byte)) {
            for (channel, number) in self.row(*byte).iter().enumerate() {
                row[channel * places + place] = *number;
            }
        }
    }
}
