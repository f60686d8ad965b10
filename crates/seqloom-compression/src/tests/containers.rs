//! Tests that apply to every compression format.

use std::io::Write;

use super::*;

fn bzip2_bytes(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd_bytes(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz_bytes(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;

/// Returns a file in each format whose streams can be concatenated.
const STREAM_FORMATS: [(Compression, Pack); 4] = [
    (Compression::Gzip, gzip_bytes),
    (Compression::Bzip2, bzip2_bytes),
    (Compression::Zstd, zstd_bytes),
    (Compression::Xz, xz_bytes),
];

pub(super) fn compress_in_every_format(text: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    let blocks: Vec<&[u8]> = text.chunks(60_000).collect();
    let others = STREAM_FORMATS.map(|(kind, pack)| (kind, pack(text)));
    [
        vec![(Compression::Bgzip, bgzip_bytes(&blocks))],
        others.to_vec(),
    ]
    .concat()
}

#[test]
fn the_compression_is_detected_from_the_content() {
    for (kind, file) in compress_in_every_format(SAMPLE_FASTA) {
        assert_eq!(detected_compression(&file), kind);
        assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA, "{kind}");
    }
}

#[test]
fn the_text_does_not_depend_on_the_size_of_reads() {
    for (kind, file) in compress_in_every_format(SAMPLE_FASTA) {
        for piece in [1, 2, 7, 64] {
            let (text, outcome) = read_all_text(
                input_with_small_reads(&file, piece),
                &options_with_threads(2),
            );
            assert!(outcome.is_ok() && text == SAMPLE_FASTA, "{kind} {piece}");
        }
    }
}

#[test]
fn a_record_may_span_several_streams() {
    for (kind, pack) in STREAM_FORMATS {
        let file = [
            pack(&SAMPLE_FASTA[..13]),
            pack(b""),
            pack(&SAMPLE_FASTA[13..]),
        ]
        .concat();
        assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA, "{kind}");
    }
}

#[test]
fn data_other_than_zeros_after_a_stream_is_an_error_with_its_offset() {
    for (kind, pack) in STREAM_FORMATS {
        let file = pack(SAMPLE_FASTA);
        let padded = [file.clone(), vec![0; 300_000]].concat();
        assert_eq!(decompress_file(&padded).unwrap(), SAMPLE_FASTA, "{kind}");
        for (between, after) in [(0, "junk"), (4, "junk"), (0, "\n")] {
            let whole = [file.clone(), vec![0; between], after.into()].concat();
            let (byte, message) = damage_position_and_message(&whole).unwrap();
            assert_eq!(byte, (file.len() + between) as u64, "{kind}: {message}");
            assert!(message.contains("more bytes follow"), "{kind}: {message}");
        }
    }
}

#[test]
fn xz_streams_may_be_separated_by_multiples_of_four_zeros_only() {
    let padded = |zeros| {
        [
            xz_bytes(&SAMPLE_FASTA[..9]),
            vec![0; zeros],
            xz_bytes(&SAMPLE_FASTA[9..]),
        ]
        .concat()
    };
    assert_eq!(decompress_file(&padded(8)).unwrap(), SAMPLE_FASTA);
    assert!(decompress_file(&padded(6)).is_err());
    assert!(decompress_file(&[xz_bytes(SAMPLE_FASTA), vec![0; 6]].concat()).is_err());
}

#[test]
fn skippable_zstd_frames_are_skipped() {
    let skipped = b"\x5A\x2A\x4D\x18\x05\0\0\0hello";
    let file = [
        skipped,
        &zstd_bytes(&SAMPLE_FASTA[..9])[..],
        skipped,
        &zstd_bytes(&SAMPLE_FASTA[9..]),
        skipped,
    ]
    .concat();
    assert_eq!(detected_compression(&file), Compression::Zstd);
    assert_eq!(decompress_file(&file).unwrap(), SAMPLE_FASTA);
}

#[test]
fn a_file_truncated_at_any_byte_is_an_error() {
    for (kind, file) in compress_in_every_format(SAMPLE_FASTA) {
        for end in 6..file.len() {
            let (text, outcome) = read_all_text(
                input_with_small_reads(&file[..end], usize::MAX),
                &UnpackOptions::default(),
            );
            assert!(outcome.is_err() || text == file[..end], "{kind} {end}");
            assert!(
                SAMPLE_FASTA.starts_with(&text) || text == file[..end],
                "{kind} {end}"
            );
        }
    }
}

#[test]
fn a_flipped_bit_never_changes_the_text_silently() {
    for (kind, file) in compress_in_every_format(SAMPLE_FASTA) {
        assert_eq!(count_silent_changes(&file), 0, "{kind}");
    }
}

#[test]
fn the_text_before_a_fault_does_not_depend_on_reads_or_threads() {
    let text = random_bases(700_000);
    for (kind, mut file) in compress_in_every_format(&text) {
        let position = file.len() * 9 / 10;
        file[position] ^= 0x10;
        let (before, outcome) = read_all_text(
            input_with_small_reads(&file, usize::MAX),
            &UnpackOptions::default(),
        );
        assert!(
            outcome.is_err() && before.len() > 100_000,
            "{kind} {}",
            before.len()
        );
        for (piece, count) in [(1000, 1), (65_537, 2), (usize::MAX, 3)] {
            let (again, outcome) = read_all_text(
                input_with_small_reads(&file, piece),
                &options_with_threads(count),
            );
            assert!(outcome.is_err(), "{kind}");
            assert_eq!(again.len(), before.len(), "{kind} {piece} {count}");
            assert!(again == before, "{kind}");
        }
    }
}

#[test]
fn a_zstd_window_above_the_limit_is_not_reported_as_damage() {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(&random_bases(200_000)).unwrap();
    let (_, message) = damage_position_and_message(&encoder.finish().unwrap()).unwrap();
    assert!(
        message.contains("cannot be unpacked near byte"),
        "{message}"
    );
    assert!(
        message.contains("needs a window above 128 MiB"),
        "{message}"
    );
}
