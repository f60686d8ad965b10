//! What holds for every container.

use std::io::Write;

use super::*;

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;

/// Containers of streams that may follow each other.
const STREAMS: [(Compression, Pack); 4] = [
    (Compression::Gzip, gzip),
    (Compression::Bzip2, bzip2),
    (Compression::Zstd, zstd),
    (Compression::Xz, xz),
];

pub(super) fn every_file(text: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    let blocks: Vec<&[u8]> = text.chunks(60_000).collect();
    let others = STREAMS.map(|(kind, pack)| (kind, pack(text)));
    [vec![(Compression::Bgzip, bgzip(&blocks))], others.to_vec()].concat()
}

#[test]
fn each_is_told_from_its_content() {
    for (kind, file) in every_file(TEXT) {
        assert_eq!(compression(&file), kind);
        assert_eq!(text_of(&file).unwrap(), TEXT, "{kind}");
    }
}

#[test]
fn the_size_of_the_pieces_that_are_read_changes_nothing() {
    for (kind, file) in every_file(TEXT) {
        for piece in [1, 2, 7, 64] {
            let (text, outcome) = drain(source(&file, piece), &threads(2));
            assert!(outcome.is_ok() && text == TEXT, "{kind} {piece}");
        }
    }
}

#[test]
fn streams_follow_each_other_even_within_a_record() {
    for (kind, pack) in STREAMS {
        let file = [pack(&TEXT[..13]), pack(b""), pack(&TEXT[13..])].concat();
        assert_eq!(text_of(&file).unwrap(), TEXT, "{kind}");
    }
}

#[test]
fn zeros_may_follow_and_anything_else_is_named_with_its_position() {
    for (kind, pack) in STREAMS {
        let file = pack(TEXT);
        let padded = [file.clone(), vec![0; 300_000]].concat();
        assert_eq!(text_of(&padded).unwrap(), TEXT, "{kind}");
        for (between, after) in [(0, "junk"), (4, "junk"), (0, "\n")] {
            let whole = [file.clone(), vec![0; between], after.into()].concat();
            let (byte, message) = damage(&whole).unwrap();
            assert_eq!(byte, (file.len() + between) as u64, "{kind}: {message}");
            assert!(
                message.contains("something else follows"),
                "{kind}: {message}"
            );
        }
    }
}

#[test]
fn xz_goes_on_after_zeros_in_fours_only() {
    let padded = |zeros| [xz(&TEXT[..9]), vec![0; zeros], xz(&TEXT[9..])].concat();
    assert_eq!(text_of(&padded(8)).unwrap(), TEXT);
    assert!(text_of(&padded(6)).is_err());
    assert!(text_of(&[xz(TEXT), vec![0; 6]].concat()).is_err());
}

#[test]
fn frames_of_zstd_that_are_to_be_skipped_are_skipped() {
    let skipped = b"\x5A\x2A\x4D\x18\x05\0\0\0hello";
    let file = [
        skipped,
        &zstd(&TEXT[..9])[..],
        skipped,
        &zstd(&TEXT[9..]),
        skipped,
    ]
    .concat();
    assert_eq!(compression(&file), Compression::Zstd);
    assert_eq!(text_of(&file).unwrap(), TEXT);
}

#[test]
fn a_file_cut_at_any_byte_is_an_error() {
    for (kind, file) in every_file(TEXT) {
        for end in 6..file.len() {
            let (text, outcome) =
                drain(source(&file[..end], usize::MAX), &UnpackOptions::default());
            assert!(outcome.is_err() || text == file[..end], "{kind} {end}");
            assert!(
                TEXT.starts_with(&text) || text == file[..end],
                "{kind} {end}"
            );
        }
    }
}

#[test]
fn a_flipped_bit_never_changes_the_text_silently() {
    for (kind, file) in every_file(TEXT) {
        assert_eq!(count_silent_changes(&file), 0, "{kind}");
    }
}

#[test]
fn the_text_before_the_damage_does_not_depend_on_pieces_or_threads() {
    let text = letters(700_000);
    for (kind, mut file) in every_file(&text) {
        let position = file.len() * 9 / 10;
        file[position] ^= 0x10;
        let (before, outcome) = drain(source(&file, usize::MAX), &UnpackOptions::default());
        assert!(
            outcome.is_err() && before.len() > 100_000,
            "{kind} {}",
            before.len()
        );
        for (piece, count) in [(1000, 1), (65_537, 2), (usize::MAX, 3)] {
            let (again, outcome) = drain(source(&file, piece), &threads(count));
            assert!(outcome.is_err(), "{kind}");
            assert_eq!(again.len(), before.len(), "{kind} {piece} {count}");
            assert!(again == before, "{kind}");
        }
    }
}

#[test]
fn a_window_that_is_too_large_is_refused_and_not_called_damage() {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(&letters(200_000)).unwrap();
    let (_, message) = damage(&encoder.finish().unwrap()).unwrap();
    assert!(
        message.contains("cannot be unpacked near byte"),
        "{message}"
    );
    assert!(
        message.contains("needs a window above 128 MiB"),
        "{message}"
    );
}
