//! Parallel decompression from the decoder snapshots of an earlier read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sirocco::inflate::Decoder;

use super::members::{Members, SPARE_BYTES, inflate};
use super::{Buffers, MIN_PART_TEXT_BYTES, Parallel, StartPositions};
use crate::disk::{Disk, try_resize};
use crate::input::BufferedInput;
use crate::seekable::{changed, packed_bytes};
use crate::snapshots::{Snapshots, snapshots_of};
use crate::text::Trouble;
use crate::{Text, UnpackOptions};

/// Returns the text of a gzip file that this process has read before. Several threads
/// decompress the file. Returns `None` if this process has not read the file, or the file
/// has changed since that read.
pub fn text_from_snapshots(path: &Path, options: &UnpackOptions) -> Option<Box<dyn Text>> {
    let disk = Disk::open(path).ok()?;
    let snapshots = snapshots_of(&disk.identity()?)?;
    let input = BufferedInput::open(path).ok()?;
    let remembered = Arc::new(RememberedSnapshots { disk, snapshots });
    let text = Parallel::new(remembered, Some(input), options.clone())?;
    Some(Box::new(text))
}

/// A gzip file that has not changed since its decoder snapshots were taken.
struct RememberedSnapshots {
    disk: Disk,
    snapshots: Arc<Snapshots>,
}

impl RememberedSnapshots {
    /// Returns the size of the text between a start position and the next one.
    fn text_of(&self, number: usize) -> u64 {
        let start = |number: usize| self.snapshots.list.get(number).map(|start| start.text);
        let end = start(number + 1).unwrap_or(self.snapshots.text);
        end.saturating_sub(start(number).unwrap_or(end))
    }
}

impl StartPositions for RememberedSnapshots {
    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn end_of(&self, first: usize) -> Option<usize> {
        (first < self.snapshots.list.len()).then_some(first + 1)
    }

    fn max_part_text(&self) -> u64 {
        let sizes = (0..self.snapshots.list.len()).map(|number| self.text_of(number));
        sizes.max().unwrap_or(0).max(MIN_PART_TEXT_BYTES)
    }

    fn unpack(
        &self,
        range: Range<usize>,
        part: &mut Buffers,
        decoder: &mut Decoder,
    ) -> Result<Members, Trouble> {
        let list = &self.snapshots.list;
        let snapshot = list.get(range.start);
        let snapshot = snapshot.ok_or_else(|| changed("it is shorter"))?;
        let next = list.get(range.end);
        let end = next.map_or(self.disk.size(), |next| next.packed);
        packed_bytes(&self.disk, snapshot.packed..end, &mut part.packed)?;
        let size = usize::try_from(self.text_of(range.start)).unwrap_or(usize::MAX);
        let start = snapshot.history.len();
        part.text = start..start.saturating_add(size);
        // The next snapshot was taken when the text buffer was full. The last input
        // bits may therefore encode text that belongs to the next part.
        let slack = if next.is_some() { 0 } else { SPARE_BYTES };
        try_resize(&mut part.out, part.text.end.saturating_add(slack))?;
        part.out[..start].copy_from_slice(&snapshot.history);
        decoder.clone_from(&snapshot.decoder);
        let (stop, members) = inflate(decoder, &part.packed, &mut part.out, start)?;
        let text = &part.out[..part.text.end];
        if stop == text.len() && next.is_none_or(|next| text.ends_with(&next.history)) {
            return Ok(members);
        }
        Err(changed("its text differs"))
    }
}
