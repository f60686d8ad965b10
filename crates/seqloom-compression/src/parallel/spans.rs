//! Parallel decompression from the positions in an index.

use std::ops::Range;
use std::sync::Arc;

use sirocco::Format;
use sirocco::inflate::Decoder;

use super::members::{Members, SPARE_BYTES, inflate};
use super::{Buffers, MIN_PART_TEXT_BYTES, Parallel, StartPositions};
use crate::UnpackOptions;
use crate::checksum::sum;
use crate::disk::{Disk, try_resize};
use crate::input::BufferedInput;
use crate::seekable::{Seekable, Span, changed, check_size, not_deflate, read_span};
use crate::text::Trouble;

/// Returns the text of a file from an offset on. Several threads decompress the file.
/// Returns `None` if only one part of the file fits in memory. If the file does not
/// match the index, `input` is decompressed instead.
pub fn text_by_spans(
    text: Seekable,
    begin: u64,
    input: Option<BufferedInput>,
    options: UnpackOptions,
) -> Option<Parallel> {
    let (first, start) = text.span_at(begin);
    let skipped = usize::try_from(begin - start).unwrap_or(usize::MAX);
    let parallel = Parallel::new(Arc::new(text), input, options)?;
    Some(parallel.starting_at(first, begin, skipped))
}

impl StartPositions for Seekable {
    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn end_of(&self, first: usize) -> Option<usize> {
        let wanted = self.spans().get(first)?.text + MIN_PART_TEXT_BYTES;
        let is_within = |span: &Span| span.text < wanted;
        Some(self.spans().partition_point(is_within).max(first + 1))
    }

    fn max_part_text(&self) -> u64 {
        let sizes = (0..self.spans().len()).map(|number| {
            let text = self.bounds(number);
            text.end - text.start
        });
        MIN_PART_TEXT_BYTES + sizes.max().unwrap_or(0)
    }

    fn unpack(
        &self,
        range: Range<usize>,
        part: &mut Buffers,
        decoder: &mut Decoder,
    ) -> Result<Members, Trouble> {
        let (begin, end) = (self.bounds(range.start).start, self.bounds(range.end).start);
        let size = usize::try_from(end - begin).unwrap_or(usize::MAX);
        let first = self.spans().get(range.start);
        let first = first.ok_or_else(|| changed("it is shorter"))?;
        let next = self.spans().get(range.end);
        let next = next.map(|next| next.bit.div_ceil(8));
        let primed = read_span(self, first, next, &mut part.packed)?;
        check_size(size, &part.packed)?;
        let space = size.saturating_add(primed.text + SPARE_BYTES);
        try_resize(&mut part.out, space)?;
        *decoder = Decoder::new(Format::Deflate);
        if !primed.bytes.is_empty() {
            let progress = decoder.decompress(&primed.bytes, &mut part.out, false);
            drop(progress.map_err(not_deflate)?);
        }
        let (stop, members) = inflate(decoder, &part.packed, &mut part.out, primed.text)?;
        part.text = primed.text..primed.text + size;
        let text = part.out.get(part.text.clone()).unwrap_or_default();
        if stop == part.text.end && has_indexed_text(self, range, text) {
            return Ok(members);
        }
        Err(changed("its text differs"))
    }
}

/// Returns true if the text of each span has the checksum that the index contains.
fn has_indexed_text(seekable: &Seekable, range: Range<usize>, text: &[u8]) -> bool {
    let begin = seekable.bounds(range.start).start;
    let position = |at: u64| usize::try_from(at - begin).unwrap_or(usize::MAX);
    range.into_iter().all(|number| {
        let bounds = seekable.bounds(number);
        let text = text.get(position(bounds.start)..position(bounds.end));
        let wanted = seekable.spans().get(number).map(|span| span.sum);
        text.map(sum) == wanted
    })
}
