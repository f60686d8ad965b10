//! Parallel decompression from the positions in an index.

use std::ops::Range;
use std::sync::Arc;

use sirocco::{Format, inflate::Decoder};

use super::members::{PartMembers, SPARE_BYTES, inflate_members};
use super::{MIN_PART_TEXT_BYTES, ParallelText, PartBuffers, StartPositions};
use crate::disk::{DiskFile, try_resize_buffer};
use crate::seekable::{
    SeekableText, Span, changed_file, check_text_size, invalid_deflate, read_span,
};
use crate::{UnpackOptions, checksum::hash_32, input::BufferedInput, text::ReadError};

/// Returns the text of a file from an offset on. Several threads decompress the file.
/// Returns `None` if only one part of the file fits in memory. If the file does not
/// match the index, `input` is decompressed instead.
pub fn text_by_spans(
    text: SeekableText,
    begin: u64,
    input: Option<BufferedInput>,
    options: UnpackOptions,
) -> Option<ParallelText> {
    let (first, start) = text.span_at(begin);
    let skipped = usize::try_from(begin - start).unwrap_or(usize::MAX);
    let parallel = ParallelText::new(Arc::new(text), input, options)?;
    Some(parallel.starting_at(first, begin, skipped))
}

impl StartPositions for SeekableText {
    fn disk(&self) -> &DiskFile {
        &self.disk
    }

    fn part_end(&self, first: usize) -> Option<usize> {
        let wanted = self.spans().get(first)?.text + MIN_PART_TEXT_BYTES;
        let is_within = |span: &Span| span.text < wanted;
        Some(self.spans().partition_point(is_within).max(first + 1))
    }

    fn max_part_text_bytes(&self) -> u64 {
        let sizes = (0..self.spans().len()).map(|number| {
            let text = self.text_range(number);
            text.end - text.start
        });
        MIN_PART_TEXT_BYTES + sizes.max().unwrap_or(0)
    }

    fn decode_part(
        &self,
        range: Range<usize>,
        part: &mut PartBuffers,
        decoder: &mut Decoder,
    ) -> Result<PartMembers, ReadError> {
        let (begin, end) = (
            self.text_range(range.start).start,
            self.text_range(range.end).start,
        );
        let size = usize::try_from(end - begin).unwrap_or(usize::MAX);
        let first = self.spans().get(range.start);
        let first = first.ok_or_else(|| changed_file("it is shorter"))?;
        let next = self.spans().get(range.end);
        let next = next.map(|next| next.bit.div_ceil(8));
        let primed = read_span(self, first, next, &mut part.packed)?;
        check_text_size(size, &part.packed)?;
        let space = size.saturating_add(primed.text + SPARE_BYTES);
        try_resize_buffer(&mut part.out, space)?;
        *decoder = Decoder::new(Format::Deflate);
        if !primed.bytes.is_empty() {
            let progress = decoder.decompress(&primed.bytes, &mut part.out, false);
            drop(progress.map_err(invalid_deflate)?);
        }
        let (stop, members) = inflate_members(decoder, &part.packed, &mut part.out, primed.text)?;
        part.text = primed.text..primed.text + size;
        let text = part.out.get(part.text.clone()).unwrap_or_default();
        if stop == part.text.end && has_indexed_text(self, range, text) {
            return Ok(members);
        }
        Err(changed_file("its text differs"))
    }
}

/// Returns true if the text of each span has the checksum that the index contains.
fn has_indexed_text(seekable: &SeekableText, range: Range<usize>, text: &[u8]) -> bool {
    let begin = seekable.text_range(range.start).start;
    let position = |at: u64| usize::try_from(at - begin).unwrap_or(usize::MAX);
    range.into_iter().all(|number| {
        let bounds = seekable.text_range(number);
        let text = text.get(position(bounds.start)..position(bounds.end));
        let wanted = seekable.spans().get(number).map(|span| span.sum);
        text.map(hash_32) == wanted
    })
}
