//! Decompresses xz with its reference library, which reads streams and padding and checks
//! the integrity of each block.

use liblzma::stream::{Action, Error, Status, Stream, TELL_UNSUPPORTED_CHECK};

use super::bzip2::increase;
use super::piece::TextPiece;
use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};

/// Memory limit for one xz stream in bytes. Files written by `xz -9` need 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// A decoder of xz streams.
pub(super) struct Xz(Option<Stream>);

impl Xz {
    pub(super) fn new() -> Self {
        Self(None)
    }
}

impl Codec for Xz {
    const NAME: &'static str = "xz";
    const PADDING: u64 = 4;

    fn begins(byte: u8) -> bool {
        byte == 0xFD
    }

    fn begin(&mut self, _: &TextPiece) -> Result<(), String> {
        let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, TELL_UNSUPPORTED_CHECK);
        self.0 = Some(stream.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn step(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, StreamError> {
        let Some(stream) = &mut self.0 else {
            return Err(StreamError {
                used: 0,
                why: StreamErrorKind::Damaged(None),
            });
        };
        let (read, written) = (stream.total_in(), stream.total_out());
        let status = stream.process(packed, piece.spare(), Action::Run);
        let used = increase(stream.total_in(), read);
        piece.grow(increase(stream.total_out(), written));
        let then = match status {
            Ok(Status::StreamEnd) => StepEnd::Done,
            Ok(_) if piece.is_full() => StepEnd::Full,
            Ok(_) => StepEnd::NeedsInput,
            Err(error) => {
                let why = to_error_kind(error);
                return Err(StreamError { used, why });
            }
        };
        Ok(CodecStep { used, then })
    }
}

fn to_error_kind(error: Error) -> StreamErrorKind {
    match error {
        Error::MemLimit => StreamErrorKind::TooLarge(format!(
            "it needs more than {} MiB of memory; unpack it first (xz -d)",
            XZ_MEMORY_BYTES >> 20
        )),
        Error::Mem => StreamErrorKind::TooLarge("there is not enough memory".into()),
        other => StreamErrorKind::Damaged(Some(other.to_string())),
    }
}
