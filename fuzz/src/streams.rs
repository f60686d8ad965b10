//! Changes valid streams of bzip2, xz and zstd, and checks that a reader returns the
//! unchanged text or an error.

use std::io::{Read, Write};

use seqloom_compression::{Compression, UnpackOptions};

use crate::blocks::{Outcome, outcome};
use crate::choices::Choices;

/// Makes a random file, and reads it as a whole and in small chunks, with one and with
/// several threads.
pub fn run(mut choices: Choices<'_>) {
    let (codec, size) = (choices.below(3), 1 + choices.below(40));
    let (mut file, mut text) = (Vec::new(), Vec::new());
    for _ in 0..1 + choices.below(3) {
        let make_text = make_text(&mut choices);
        file.extend(pack(codec, &make_text, &mut choices));
        text.extend(make_text);
    }
    let is_whole = !change(&mut choices, &mut file);
    let whole = outcome(&file, usize::MAX, &UnpackOptions::default());
    for threads in [1, 3] {
        let options = UnpackOptions {
            threads,
            ..UnpackOptions::default()
        };
        let found = outcome(&file, size, &options);
        assert!(whole == found, "{threads} threads, pieces of {size}");
    }
    check_outcome(&whole, &text, is_whole);
}

/// Checks that a changed bit causes an error or has no effect, because all three formats
/// have checksums. If the first bytes change, the file is read as plain text.
fn check_outcome((kind, found, error): &Outcome, text: &[u8], is_whole: bool) {
    assert!(!is_whole || error.is_none(), "{error:?}");
    let is_plain = *kind == Some(Compression::None);
    assert!(
        error.is_some() || is_plain || found == text,
        "the text differs from the original"
    );
    assert!(
        !is_whole || !is_plain,
        "an unchanged stream was read as plain text"
    );
}

/// Returns arbitrary bytes, repeated text, or long text.
fn make_text(choices: &mut Choices<'_>) -> Vec<u8> {
    let size = choices.below(60);
    let some = choices.bytes(size).to_vec();
    some.repeat([1, 2, 50, 3000][choices.below(4)])
}

/// Compresses text as one stream, with a checksum.
fn pack(codec: usize, text: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let level = 1 + choices.below(3) as u32;
    let mut packed = Vec::new();
    let good = match codec {
        0 => bzip2::read::BzEncoder::new(text, bzip2::Compression::new(level))
            .read_to_end(&mut packed)
            .map(drop),
        1 => liblzma::read::XzEncoder::new(text, level)
            .read_to_end(&mut packed)
            .map(drop),
        _ => zstd::Encoder::new(&mut packed, level as i32).and_then(|mut encoder| {
            encoder.include_checksum(true)?;
            encoder.write_all(text)?;
            encoder.finish().map(drop)
        }),
    };
    good.expect("memory suffices");
    packed
}

/// Flips a bit, truncates the last stream, or does nothing. Returns true if the file
/// changed.
fn change(choices: &mut Choices<'_>, file: &mut Vec<u8>) -> bool {
    let (kind, at) = (choices.byte() % 3, choices.below(file.len()));
    match kind {
        0 => return false,
        1 => file[at] ^= 1 << (choices.byte() % 8),
        _ => file.truncate(file.len() - 1 - at.min(8)),
    }
    true
}
