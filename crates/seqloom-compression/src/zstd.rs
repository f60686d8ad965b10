//! Decompresses Zstandard (RFC 8878) with its reference library, which verifies optional
//! checksums and skips skippable frames.

use std::io;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};
use super::text_buffer::TextBuffer;

/// The base-2 logarithm of the maximal window size, the same limit as in the program
/// `zstd`.
const MAX_WINDOW_LOG: u32 = 27;

/// Number of bytes at the start of a frame that the decoder needs before it can report
/// how many more bytes to read.
const FRAME_START_BYTES: usize = 5;

/// A decoder of zstd frames. The frames are decoded block by block, so that all text
/// before a corrupt block is returned.
pub(super) struct ZstdCodec {
    decoder: Decoder<'static>,
    /// The number of bytes that are missing from the next header or block.
    needed: usize,
}

impl ZstdCodec {
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
        let needed = FRAME_START_BYTES;
        Ok(Self { decoder, needed })
    }
}

impl Codec for ZstdCodec {
    const FORMAT: &'static str = "zstd";
    const STREAM: &'static str = "frame";

    fn can_begin_with(byte: u8) -> bool {
        matches!(byte, 0x28 | 0x50..=0x5F)
    }

    fn begin_stream(&mut self, _: &TextBuffer) -> Result<(), String> {
        self.needed = FRAME_START_BYTES;
        self.decoder.reinit().map_err(|error| error.to_string())
    }

    fn decode(&mut self, packed: &[u8], piece: &mut TextBuffer) -> Result<CodecStep, StreamError> {
        let block = &packed[..packed.len().min(self.needed)];
        let (mut read, mut written) = (InBuffer::around(block), OutBuffer::around(piece.unused()));
        let needed = self.decoder.run(&mut read, &mut written);
        let (used, count) = (read.pos(), written.pos());
        piece.extend_text(count);
        self.needed = needed
            .as_ref()
            .map_or(FRAME_START_BYTES, |needed| (*needed).max(1));
        let then = match needed {
            Ok(0) => StepEnd::Done,
            Ok(_) if piece.is_full() => StepEnd::Full,
            Ok(_) => StepEnd::NeedsInput,
            Err(error) => {
                let why = to_error_kind(&error);
                return Err(StreamError { used, why });
            }
        };
        Ok(CodecStep { used, then })
    }
}

fn to_error_kind(error: &io::Error) -> StreamErrorKind {
    let said = error.to_string();
    if said.contains("memory") {
        return StreamErrorKind::TooLarge(format!(
            "it needs a window above {} MiB; unpack it first (zstd -d --long=31)",
            1 << (MAX_WINDOW_LOG - 20)
        ));
    }
    StreamErrorKind::Damaged(Some(said))
}
