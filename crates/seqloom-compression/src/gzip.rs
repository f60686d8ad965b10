//! Decompresses gzip (RFC 1952) with sirocco.

use sirocco::Format;
use sirocco::inflate::{Decoder, Error};

use super::snapshots::SnapshotRecorder;
use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};
use super::text_buffer::TextBuffer;
use crate::gzip_blocks::WINDOW_BYTES;
use seqloom_core::number::as_u64;

/// A decoder of gzip members, which checks their checksums and lengths.
pub(super) struct GzipCodec {
    decoder: Box<Decoder>,
    /// A copy of the decoder before the last step.
    before: Box<Decoder>,
    /// The offset in the text buffer at which the text of this member begins.
    base: usize,
    /// The size of the text of this member in the text buffer.
    filled: usize,
    /// True if the decoder is inside a member.
    is_within: bool,
    /// Number of bytes of the compressed file that the decoder has used.
    used: u64,
    /// The recorder of decoder snapshots, if a later read can use them.
    recorder: Option<SnapshotRecorder>,
}

impl GzipCodec {
    pub(super) fn new(recorder: Option<SnapshotRecorder>) -> Self {
        let decoder = Box::new(Decoder::new(Format::Gzip));
        Self {
            before: decoder.clone(),
            decoder,
            base: 0,
            filled: 0,
            is_within: false,
            used: 0,
            recorder,
        }
    }

    fn decompress(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, Error> {
        let target = &mut piece.bytes[self.base..];
        let progress = self.decoder.decompress(packed, target, false)?;
        let (used, count) = (progress.consumed, progress.output.len());
        let then = match (progress.done, progress.full) {
            (true, _) => StepEnd::Done,
            (_, true) => StepEnd::Full,
            _ => StepEnd::NeedsInput,
        };
        self.filled += count;
        self.used += as_u64(used);
        if let Some(recorder) = &mut self.recorder {
            recorder.count_text_bytes(count);
        }
        self.is_within = then != StepEnd::Done;
        piece.extend_text(count);
        Ok(CodecStep { used, then })
    }

    /// Decompresses the input again up to the first wrong bit. All text before the first
    /// wrong bit is returned, regardless of the buffer size.
    fn recover_text(&mut self, packed: &[u8], piece: &mut TextBuffer, error: Error) -> StreamError {
        let (mut right, mut wrong) = (0, packed.len());
        while right + 1 < wrong {
            let middle = usize::midpoint(right, wrong);
            self.decoder.clone_from(&self.before);
            let target = &mut piece.bytes[self.base..];
            match self.decoder.decompress(&packed[..middle], target, false) {
                Ok(_) => right = middle,
                Err(_) => wrong = middle,
            }
        }
        self.decoder.clone_from(&self.before);
        let used = self
            .decompress(&packed[..right], piece)
            .map_or(0, |step| step.used);
        let why = matches!(error, Error::ChecksumMismatch)
            .then(|| "the checksum or length of the text is wrong".into());
        let why = StreamErrorKind::Damaged(why);
        StreamError { used, why }
    }
}

impl Codec for GzipCodec {
    const FORMAT: &'static str = "gzip";
    const STREAM: &'static str = "member";

    fn can_begin_with(byte: u8) -> bool {
        byte == 0x1F
    }

    fn begin_stream(&mut self, piece: &TextBuffer) -> Result<(), String> {
        (self.base, self.filled) = (piece.stop, 0);
        self.is_within = true;
        Ok(())
    }

    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, StreamError> {
        self.before.clone_from(&self.decoder);
        self.decompress(packed, piece)
            .map_err(|error| self.recover_text(packed, piece, error))
    }

    fn switch_buffer(&mut self, full: &TextBuffer, fresh: &mut TextBuffer) {
        let member = &full.bytes[self.base..self.base + self.filled];
        let history = member.len().saturating_sub(WINDOW_BYTES);
        fresh.bytes[history..member.len()].copy_from_slice(&member[history..]);
        self.filled -= self.decoder.make_room(&mut fresh.bytes);
        self.base = 0;
        (fresh.start, fresh.stop) = (self.filled, self.filled);
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.is_within) {
            recorder.add_if_distant(self.used, &self.decoder, &fresh.bytes[..self.filled]);
        }
    }

    fn end_file(&mut self) {
        self.recorder
            .take()
            .into_iter()
            .for_each(SnapshotRecorder::store_snapshots);
    }
}
