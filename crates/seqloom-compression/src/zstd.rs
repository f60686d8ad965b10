//! Zstandard (RFC 8878), by its reference library: frames, checksums where a
//! frame has one, and frames that are to be skipped.

use std::io;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use super::piece::TextPiece;
use super::streams::{Codec, CodecStep, StepEnd, StreamError, StreamErrorKind};

/// The largest window, as a power of two: what the program `zstd` takes too.
const WINDOW: u32 = 27;

/// The number of bytes after which the decoder reports how many more a frame needs.
const BEGINNING: usize = 5;

/// Unpacks zstd frames, block by block: all blocks before a wrong one count.
pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// How much input completes the next header or block.
    needed: usize,
}

impl Zstd {
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW))?;
        let needed = BEGINNING;
        Ok(Self { decoder, needed })
    }
}

impl Codec for Zstd {
    const NAME: &'static str = "zstd";
    const PART: &'static str = "frame";

    fn begins(byte: u8) -> bool {
        matches!(byte, 0x28 | 0x50..=0x5F)
    }

    fn begin(&mut self, _: &TextPiece) -> Result<(), String> {
        self.needed = BEGINNING;
        self.decoder.reinit().map_err(|error| error.to_string())
    }

    fn step(&mut self, packed: &[u8], piece: &mut TextPiece) -> Result<CodecStep, StreamError> {
        let block = &packed[..packed.len().min(self.needed)];
        let (mut read, mut written) = (InBuffer::around(block), OutBuffer::around(piece.spare()));
        let needed = self.decoder.run(&mut read, &mut written);
        let (used, count) = (read.pos(), written.pos());
        piece.grow(count);
        self.needed = needed.as_ref().map_or(BEGINNING, |needed| (*needed).max(1));
        let then = match needed {
            Ok(0) => StepEnd::Done,
            Ok(_) if piece.is_full() => StepEnd::Full,
            Ok(_) => StepEnd::Hungry,
            Err(error) => {
                let why = explain(&error);
                return Err(StreamError { used, why });
            }
        };
        Ok(CodecStep { used, then })
    }
}

fn explain(error: &io::Error) -> StreamErrorKind {
    let said = error.to_string();
    if said.contains("memory") {
        return StreamErrorKind::TooLarge(format!(
            "it needs a window above {} MiB; unpack it first (zstd -d --long=31)",
            1 << (WINDOW - 20)
        ));
    }
    StreamErrorKind::Damaged(Some(said))
}
