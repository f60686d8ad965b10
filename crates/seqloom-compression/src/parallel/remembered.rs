//! Parts by the positions that were put aside when the file was read before.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sirocco::inflate::Decoder;

use super::members::{Members, SLACK, inflate};
use super::{Buffers, ENOUGH, Parallel, Starts};
use crate::disk::{Disk, room};
use crate::input::Input;
use crate::positions::{Positions, positions_of};
use crate::seekable::{changed, packed_bytes};
use crate::text::Trouble;
use crate::{Options, Text};

/// The text of a gzip file that this process has read before, unpacked by
/// several threads; nothing where it has not, or the file was written since.
pub fn text_again(path: &Path, options: &Options) -> Option<Box<dyn Text>> {
    let disk = Disk::open(path).ok()?;
    let positions = positions_of(&disk.identity()?)?;
    let input = Input::open(path).ok()?;
    let remembered = Arc::new(Remembered { disk, positions });
    let text = Parallel::new(remembered, Some(input), options.clone())?;
    Some(Box::new(text))
}

/// A file that is as it was when its positions were put aside.
struct Remembered {
    disk: Disk,
    positions: Arc<Positions>,
}

impl Remembered {
    /// How much text there is from a position to the next.
    fn text_of(&self, number: usize) -> u64 {
        let start = |number: usize| self.positions.list.get(number).map(|start| start.text);
        let end = start(number + 1).unwrap_or(self.positions.text);
        end.saturating_sub(start(number).unwrap_or(end))
    }
}

impl Starts for Remembered {
    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn end_of(&self, first: usize) -> Option<usize> {
        (first < self.positions.list.len()).then_some(first + 1)
    }

    fn longest(&self) -> u64 {
        let sizes = (0..self.positions.list.len()).map(|number| self.text_of(number));
        sizes.max().unwrap_or(0).max(ENOUGH)
    }

    fn unpack(
        &self,
        range: Range<usize>,
        part: &mut Buffers,
        decoder: &mut Decoder,
    ) -> Result<Members, Trouble> {
        let list = &self.positions.list;
        let position = list.get(range.start);
        let position = position.ok_or_else(|| changed("it is shorter"))?;
        let next = list.get(range.end);
        let end = next.map_or(self.disk.size(), |next| next.packed);
        packed_bytes(&self.disk, position.packed..end, &mut part.packed)?;
        let size = usize::try_from(self.text_of(range.start)).unwrap_or(usize::MAX);
        let start = position.history.len();
        part.text = start..start.saturating_add(size);
        // A decoder that was put aside had filled its buffer: the last bits that it
        // used may be of text that it had no room for.
        let slack = if next.is_some() { 0 } else { SLACK };
        room(&mut part.out, part.text.end.saturating_add(slack))?;
        part.out[..start].copy_from_slice(&position.history);
        decoder.clone_from(&position.decoder);
        let (stop, members) = inflate(decoder, &part.packed, &mut part.out, start)?;
        let text = &part.out[..part.text.end];
        if stop == text.len() && next.is_none_or(|next| text.ends_with(&next.history)) {
            return Ok(members);
        }
        Err(changed("its text differs"))
    }
}
