//! Returns the text of a file in order, while other threads decompress the next parts
//! of the file.

use std::sync::Arc;

use seqloom_core::number::as_u64;
use seqloom_core::workers::{Job, Workers};
use sirocco::inflate::Decoder;

use super::members::{MemberState, TextChecksum};
use super::{StartPositions, TextPart};
use crate::input::{BufferedInput, fork_error};
use crate::text::{ReadError, TextSource, UnpackOptions, already_failed_error};
use crate::{open_text, seekable::changed_file};

/// Maximal total size in bytes of the decompressed, unread text.
const MAX_UNREAD_TEXT_BYTES: u64 = 256 << 20;

/// The text of a file that is decompressed by several threads, including the reader's
/// thread.
pub struct ParallelText {
    starts: Arc<dyn StartPositions>,
    /// The index of the start position of the next part of the file.
    next: usize,
    /// The gzip member in which the next part of the file begins.
    member: MemberState,
    /// The threads start only after the first part of the file was read, because most
    /// files are too small to need threads.
    workers: Workers<TextPart>,
    decoder: Option<Box<Decoder>>,
    /// Maximal number of parts of the file that are queued ahead of the reader.
    ahead: usize,
    /// The part of the file whose text is being read.
    part: Option<TextPart>,
    spare: Option<TextPart>,
    /// The offset in the decompressed text at which the current part of the file ends.
    returned: u64,
    /// Number of bytes to skip in the first part of the file, before the offset where
    /// reading begins.
    skipped: usize,
    options: UnpackOptions,
    rest: RemainingText,
}

/// The source of the text after the current part of the file.
enum RemainingText {
    /// The next parts of the file. If a part of the file does not match the expected
    /// text, the file is decompressed again from this input.
    Parts(Option<BufferedInput>),
    /// The text of the file as decompressed by one thread, after a part of the file did
    /// not match.
    Plain(Box<dyn TextSource>),
    /// No more text.
    Nothing,
    Failed,
}

impl ParallelText {
    /// Creates a reader of the whole file. Returns `None` if only one part of the file
    /// fits in memory.
    pub(super) fn new(
        starts: Arc<dyn StartPositions>,
        input: Option<BufferedInput>,
        options: UnpackOptions,
    ) -> Option<Self> {
        let ahead = queued_part_count(starts.max_part_text_bytes(), options.threads);
        (ahead > 1).then(|| Self {
            starts,
            next: 0,
            member: MemberState::Begun(TextChecksum::default()),
            workers: Workers::start("seqloom-spans", 0),
            decoder: None,
            ahead,
            part: None,
            spare: None,
            returned: 0,
            skipped: 0,
            options,
            rest: RemainingText::Parts(input),
        })
    }

    /// Starts at the offset `begin` of the decompressed text, which is `skipped` bytes
    /// after the start position `first`.
    pub(super) fn starting_at(self, first: usize, begin: u64, skipped: usize) -> Self {
        Self {
            next: first,
            member: if first == 0 {
                self.member
            } else {
                MemberState::Unverified
            },
            returned: begin,
            skipped,
            ..self
        }
    }

    /// Replaces the current part of the file by the next one.
    fn next_part(&mut self) -> Result<(), ReadError> {
        if !self.workers.is_in_this_process() {
            return Err(fork_error().into());
        }
        self.push_parts();
        let next = self.decoder.as_mut();
        let Some(mut part) = next.and_then(|decoder| self.workers.pop(decoder)) else {
            return self.end_text();
        };
        let members = part.outcome.as_ref();
        if !members.is_ok_and(|members| self.member.add_part(members)) {
            return self.restart();
        }
        part.consume(std::mem::take(&mut self.skipped));
        self.returned += as_u64(part.unread_text().len());
        self.spare = self.part.replace(part);
        Ok(())
    }

    /// Queues enough parts of the file to keep all threads busy.
    fn push_parts(&mut self) {
        let threads = self.options.threads;
        if threads > 1 && self.workers.is_empty() && self.part.is_some() {
            self.workers = Workers::start("seqloom-spans", threads - 1);
        }
        let enough = if self.workers.is_empty() {
            1
        } else {
            self.ahead
        };
        while self.workers.pending() < enough {
            let Some(end) = self.starts.part_end(self.next) else {
                return;
            };
            let spare = self.spare.take();
            let mut part = spare.unwrap_or_else(|| TextPart::new(&self.starts));
            part.range = self.next..end;
            self.next = end;
            self.decoder.get_or_insert_with(|| part.workspace());
            self.workers.push(part);
        }
    }

    /// Ends the text if the last gzip member is complete and the file has not changed.
    fn end_text(&mut self) -> Result<(), ReadError> {
        let is_complete = matches!(self.member, MemberState::Between);
        if !is_complete || !self.starts.disk().is_unchanged() {
            return self.restart();
        }
        self.rest = RemainingText::Nothing;
        Ok(())
    }

    /// Decompresses the file again from its beginning, and skips the text that was
    /// already returned.
    fn restart(&mut self) -> Result<(), ReadError> {
        self.workers = Workers::start("seqloom-spans", 0);
        self.part = None;
        let rest = std::mem::replace(&mut self.rest, RemainingText::Nothing);
        let RemainingText::Parts(Some(input)) = rest else {
            return Err(changed_file("its text differs"));
        };
        let (_, mut text) = open_text(input, &self.options)?;
        let mut missing = usize::try_from(self.returned).unwrap_or(usize::MAX);
        while missing > 0 {
            let count = text.fill_buffer()?.len().min(missing);
            if count == 0 {
                return Err(changed_file("it is shorter"));
            }
            text.consume(count);
            missing -= count;
        }
        self.rest = RemainingText::Plain(text);
        Ok(())
    }

    fn unread_text(&self) -> &[u8] {
        self.part.as_ref().map_or(&[], TextPart::unread_text)
    }

    /// Returns the number of parts of the file that were queued and not read yet.
    pub fn pending_parts(&self) -> usize {
        self.workers.pending()
    }
}

/// Returns the number of parts of the file to queue ahead of the reader.
fn queued_part_count(max_part_text: u64, threads: usize) -> usize {
    let max = MAX_UNREAD_TEXT_BYTES / max_part_text.max(1);
    usize::try_from(max).unwrap_or(usize::MAX).min(2 * threads)
}

impl TextSource for ParallelText {
    fn fill_buffer(&mut self) -> Result<&[u8], ReadError> {
        while self.unread_text().is_empty() && matches!(self.rest, RemainingText::Parts(_)) {
            if let Err(error) = self.next_part() {
                self.rest = RemainingText::Failed;
                return Err(error);
            }
        }
        match &mut self.rest {
            RemainingText::Plain(text) => text.fill_buffer(),
            RemainingText::Failed => Err(already_failed_error()),
            _ => Ok(self.part.as_ref().map_or(&[], TextPart::unread_text)),
        }
    }

    fn consume(&mut self, count: usize) {
        match (&mut self.rest, &mut self.part) {
            (RemainingText::Plain(text), _) => text.consume(count),
            (_, Some(part)) => part.consume(count),
            _ => {}
        }
    }
}
