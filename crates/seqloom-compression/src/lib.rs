//! Reads plain and compressed files as text. The module `temporary_file` writes files atomically.
//!
//! Plain text, gzip and bgzip are always supported. The feature `containers` (on by
//! default) adds bzip2, zstd and xz; zstd and xz are C libraries.
//!
//! The compression is detected from the content, never from the name. All checks of a
//! format are made: the checksum, the length and, for bgzip, the empty block at the
//! end. If a file is corrupt, all valid text is returned before the error.
//!
//! ```text
//! plain                    plain ──> text                        exchange: a thread reads ahead
//! gzip, bzip2, zstd, xz    streams ── decompressed_text ──> text  exchange: a thread decompresses ahead
//! bgzip                    bgzip_text ──> text                   workers decompress runs of blocks
//! ```

#[deny(clippy::indexing_slicing)] // numbers from a file are not trusted
mod bgzip;
#[deny(clippy::indexing_slicing)] // numbers from an index are not trusted
pub mod bgzip_ranges;
mod bgzip_text;
#[cfg(feature = "containers")]
mod bzip2;
pub mod checksum;
mod decompressed_text;
pub mod disk;
mod exchange;
mod gzip;
#[deny(clippy::indexing_slicing)] // decoded numbers are not trusted
pub mod gzip_blocks;
pub mod index_bytes;
pub mod input;
pub mod lines;
pub mod parallel;
mod plain;
#[deny(clippy::indexing_slicing)] // numbers from an index are not trusted
pub mod seekable;
mod snapshots;
mod streams;
#[cfg_attr(not(unix), path = "system/other_systems.rs")]
mod system;
pub mod temporary_file;
mod text;
mod text_buffer;
#[cfg(feature = "containers")]
mod xz;
#[cfg(feature = "containers")]
mod zstd;

use std::io;

use crate::input::{BufferedInput, INPUT_READ_BYTES};
use streams::{Codec, StreamDecompressor};
pub use text::{Compression, ReadError, TextSource, UnpackOptions};

/// Detects the compression of a file, and returns it with the decompressed text.
pub fn open_text(
    mut input: BufferedInput,
    options: &UnpackOptions,
) -> Result<(Compression, Box<dyn TextSource>), ReadError> {
    let enough = if input.is_regular() {
        INPUT_READ_BYTES
    } else {
        bgzip_text::DETECT_BYTES
    };
    let compression = detect_compression(input.fill_to(enough)?);
    let text: Box<dyn TextSource> = match compression {
        Compression::None => Box::new(plain::PlainText::new(input, options)),
        Compression::Bgzip => Box::new(bgzip_text::BgzipText::new(input, options)?),
        Compression::Gzip => {
            let recorder = snapshots::SnapshotRecorder::for_input(&input, options);
            decompress_streams(input, gzip::GzipCodec::new(recorder), options)?
        }
        #[cfg(feature = "containers")]
        Compression::Bzip2 => decompress_streams(input, bzip2::Bzip2Codec::new(), options)?,
        #[cfg(feature = "containers")]
        Compression::Zstd => decompress_streams(input, zstd::ZstdCodec::new()?, options)?,
        #[cfg(feature = "containers")]
        Compression::Xz => decompress_streams(input, xz::XzCodec::new(), options)?,
        #[cfg(not(feature = "containers"))]
        other => return Err(unsupported_error(other)),
    };
    Ok((compression, text))
}

/// Returns the error for a format that this build does not support.
#[cfg(not(feature = "containers"))]
fn unsupported_error(compression: Compression) -> ReadError {
    let message = format!("this build cannot read {compression} files: unpack it first");
    ReadError::Damage(seqloom_core::error::Fault::of_file(message))
}

fn decompress_streams<C: Codec + 'static>(
    input: BufferedInput,
    codec: C,
    options: &UnpackOptions,
) -> io::Result<Box<dyn TextSource>> {
    let unpacker = Box::new(StreamDecompressor::new(codec));
    Ok(Box::new(decompressed_text::DecompressedText::new(
        input, unpacker, options,
    )?))
}

fn detect_compression(start: &[u8]) -> Compression {
    match start {
        [0x1F, 0x8B, ..] if bgzip::block_size(start).is_some() => Compression::Bgzip,
        [0x1F, 0x8B, ..] => Compression::Gzip,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Compression::Bzip2,
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        _ => Compression::None,
    }
}

#[cfg(test)]
mod tests;
