//! Gzip (RFC 1952), by sirocco.

use sirocco::Format;
use sirocco::inflate::{Decoder, Error};

use super::piece::TextPiece;
use super::snapshots::Recorder;
use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};
use crate::walk::WINDOW;
use seqloom_core::number::as_u64;

/// Unpacks gzip members; checks each one's checksum and length.
pub(super) struct Gzip {
    decoder: Box<Decoder>,
    /// The decoder as it was before the last step.
    before: Box<Decoder>,
    /// Where in the piece this member's text begins.
    base: usize,
    /// How much of the piece behind that is text of this member.
    filled: usize,
    /// Whether a member has begun and not ended.
    is_within: bool,
    /// How much of the file was used; members stand one behind the other.
    used: u64,
    /// Takes snapshots of the decoder, if they are of use.
    recorder: Option<Recorder>,
}

impl Gzip {
    pub(super) fn new(recorder: Option<Recorder>) -> Self {
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

    fn run(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, Error> {
        let target = &mut piece.bytes[self.base..];
        let progress = self.decoder.decompress(packed, target, false)?;
        let (used, count) = (progress.consumed, progress.output.len());
        let then = match (progress.done, progress.full) {
            (true, _) => StepEnd::Done,
            (_, true) => StepEnd::Full,
            _ => StepEnd::Hungry,
        };
        self.filled += count;
        self.used += as_u64(used);
        if let Some(recorder) = &mut self.recorder {
            recorder.advance(count);
        }
        self.is_within = then != StepEnd::Done;
        piece.grow(count);
        Ok(CodecStep { used, then })
    }

    /// Unpacks again, and only what comes before the first wrong bit: what
    /// stands there is text, however the file was cut into pieces.
    fn salvage(&mut self, packed: &[u8], piece: &mut TextPiece, error: Error) -> StreamError {
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
            .run(&packed[..right], piece)
            .map_or(0, |step| step.used);
        let why = matches!(error, Error::ChecksumMismatch)
            .then(|| "its checksum or its length does not match".into());
        let why = StreamErrorKind::Damaged(why);
        StreamError { used, why }
    }
}

impl Codec for Gzip {
    const NAME: &'static str = "gzip";
    const PART: &'static str = "member";

    fn begins(byte: u8) -> bool {
        byte == 0x1F
    }

    fn begin(&mut self, piece: &TextPiece) -> Result<(), String> {
        (self.base, self.filled) = (piece.stop, 0);
        self.is_within = true;
        Ok(())
    }

    fn step(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, StreamError> {
        self.before.clone_from(&self.decoder);
        self.run(packed, piece)
            .map_err(|error| self.salvage(packed, piece, error))
    }

    fn continue_in(&mut self, full: &TextPiece, fresh: &mut TextPiece) {
        let member = &full.bytes[self.base..self.base + self.filled];
        let kept = member.len().saturating_sub(WINDOW);
        fresh.bytes[kept..member.len()].copy_from_slice(&member[kept..]);
        self.filled -= self.decoder.make_room(&mut fresh.bytes);
        self.base = 0;
        (fresh.start, fresh.stop) = (self.filled, self.filled);
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.is_within) {
            recorder.note(self.used, &self.decoder, &fresh.bytes[..self.filled]);
        }
    }

    fn finish(&mut self) {
        self.recorder.take().into_iter().for_each(Recorder::keep);
    }
}
