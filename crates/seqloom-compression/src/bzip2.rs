//! Decompresses bzip2 with libbz2-rs. Each block and each stream has a checksum.

use bzip2::{Decompress, Status};

use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};
use super::text_buffer::TextBuffer;

/// A decoder of bzip2 streams.
pub(super) struct Bzip2Codec(Decompress);

impl Bzip2Codec {
    pub(super) fn new() -> Self {
        Self(Decompress::new(false))
    }
}

impl Codec for Bzip2Codec {
    const FORMAT: &'static str = "bzip2";

    fn can_begin_with(byte: u8) -> bool {
        byte == b'B'
    }

    fn begin_stream(&mut self, _: &TextBuffer) -> Result<(), String> {
        self.0 = Decompress::new(false);
        Ok(())
    }

    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, StreamError> {
        let (read, written) = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(packed, piece.unused());
        let used = counter_increase(self.0.total_in(), read);
        piece.extend_text(counter_increase(self.0.total_out(), written));
        let then = match status {
            Ok(Status::StreamEnd) => StepEnd::Done,
            Ok(_) if piece.is_full() => StepEnd::Full,
            Ok(_) => StepEnd::NeedsInput,
            Err(_) => {
                let why = StreamErrorKind::Damaged(None);
                return Err(StreamError { used, why });
            }
        };
        Ok(CodecStep { used, then })
    }
}

/// Returns the number of bytes by which a running total has increased.
pub(super) fn counter_increase(after: u64, before: u64) -> usize {
    usize::try_from(after - before).unwrap_or(usize::MAX)
}
