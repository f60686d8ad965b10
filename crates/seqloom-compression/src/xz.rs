//! Decompresses xz with its reference library, which reads streams and padding and checks
//! the integrity of each block.

use liblzma::stream::{Action, Error, Status, Stream, TELL_UNSUPPORTED_CHECK};

use super::bzip2::counter_increase;
use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};
use super::text_buffer::TextBuffer;

/// Memory limit for one xz stream in bytes. Files written by `xz -9` need 65 MiB.
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// A decoder of xz streams.
pub(super) struct XzCodec(Option<Stream>);

impl XzCodec {
    pub(super) fn new() -> Self {
        Self(None)
    }
}

impl Codec for XzCodec {
    const FORMAT: &'static str = "xz";
    const PADDING_MULTIPLE: u64 = 4;

    fn can_begin_with(byte: u8) -> bool {
        byte == 0xFD
    }

    fn begin_stream(&mut self, _: &TextBuffer) -> Result<(), String> {
        let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, TELL_UNSUPPORTED_CHECK);
        self.0 = Some(stream.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, StreamError> {
        let Some(stream) = &mut self.0 else {
            return Err(StreamError {
                used: 0,
                why: StreamErrorKind::Damaged(None),
            });
        };
        let (read, written) = (stream.total_in(), stream.total_out());
        let status = stream.process(packed, piece.unused(), Action::Run);
        let used = counter_increase(stream.total_in(), read);
        piece.extend_text(counter_increase(stream.total_out(), written));
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
