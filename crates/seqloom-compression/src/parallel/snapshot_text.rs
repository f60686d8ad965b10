//! Parallel decompression from the decoder snapshots of an earlier read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sirocco::inflate::Decoder;

use super::members::{PartMembers, SPARE_BYTES, inflate_members};
use super::{MIN_PART_TEXT_BYTES, ParallelText, PartBuffers, StartPositions};
use crate::disk::{DiskFile, try_resize_buffer};
use crate::seekable::{changed_file, read_packed};
use crate::snapshots::{FileSnapshots, find_snapshots};
use crate::{TextSource, UnpackOptions, input::BufferedInput, text::ReadError};

/// Returns the text of a gzip file that this process has read before. Several threads
/// decompress the file. Returns `None` if this process has not read the file, or the file
/// has changed since that read.
pub fn text_from_snapshots(path: &Path, options: &UnpackOptions) -> Option<Box<dyn TextSource>> {
    let disk = DiskFile::open(path).ok()?;
    let snapshots = find_snapshots(&disk.identity()?)?;
    let input = BufferedInput::open(path).ok()?;
    let remembered = Arc::new(RememberedSnapshots { disk, snapshots });
    let text = ParallelText::new(remembered, Some(input), options.clone())?;
    Some(Box::new(text))
}

/// A gzip file that has not changed since its decoder snapshots were taken.
struct RememberedSnapshots {
    disk: DiskFile,
    snapshots: Arc<FileSnapshots>,
}

impl RememberedSnapshots {
    /// Returns the size of the text between a start position and the next one.
    fn text_bytes_after(&self, number: usize) -> u64 {
        let start = |number: usize| self.snapshots.list.get(number).map(|start| start.text);
        let end = start(number + 1).unwrap_or(self.snapshots.text);
        end.saturating_sub(start(number).unwrap_or(end))
    }
}

impl StartPositions for RememberedSnapshots {
    fn disk(&self) -> &DiskFile {
        &self.disk
    }

    fn part_end(&self, first: usize) -> Option<usize> {
        (first < self.snapshots.list.len()).then_some(first + 1)
    }

    fn max_part_text_bytes(&self) -> u64 {
        let sizes = (0..self.snapshots.list.len()).map(|number| self.text_bytes_after(number));
        sizes.max().unwrap_or(0).max(MIN_PART_TEXT_BYTES)
    }

    fn decode_part(
        &self,
        range: Range<usize>,
        part: &mut PartBuffers,
        decoder: &mut Decoder,
    ) -> Result<PartMembers, ReadError> {
        let list = &self.snapshots.list;
        let snapshot = list.get(range.start);
        let snapshot = snapshot.ok_or_else(|| changed_file("it is shorter"))?;
        let next = list.get(range.end);
        let end = next.map_or(self.disk.size(), |next| next.packed);
        read_packed(&self.disk, snapshot.packed..end, &mut part.packed)?;
        let size = usize::try_from(self.text_bytes_after(range.start)).unwrap_or(usize::MAX);
        let start = snapshot.history.len();
        part.text = start..start.saturating_add(size);
        // The next snapshot was taken when the text buffer was full. The last input
        // bits may therefore encode text that belongs to the next part.
        let slack = if next.is_some() { 0 } else { SPARE_BYTES };
        try_resize_buffer(&mut part.out, part.text.end.saturating_add(slack))?;
        part.out[..start].copy_from_slice(&snapshot.history);
        decoder.clone_from(&snapshot.decoder);
        let (stop, members) = inflate_members(decoder, &part.packed, &mut part.out, start)?;
        let text = &part.out[..part.text.end];
        if stop == text.len() && next.is_none_or(|next| text.ends_with(&next.history)) {
            return Ok(members);
        }
        Err(changed_file("its text differs"))
    }
}
