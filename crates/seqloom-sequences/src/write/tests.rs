use std::io::Cursor;
use std::sync::{Arc, Mutex};

use seqloom_core::Ragged;

use super::*;
use seqloom_compression as compression;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::open_text;

/// A target for a writer. The content of the target is shared, so that the test can
/// read it.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options(compression: Compression, threads: usize) -> WriterOptions {
    WriterOptions {
        compression,
        threads,
        ..WriterOptions::new(Format::Fasta)
    }
}

/// Writes a text in parts of `part` bytes. Returns the content of the file.
fn pack(text: &[u8], options: WriterOptions, part: usize) -> (Vec<u8>, WriteSummary) {
    let target = SharedBuffer::default();
    let mut writer = RecordWriter::new(Box::new(target.clone()), options).unwrap();
    for part in text.chunks(part) {
        writer.write_text(part).unwrap();
    }
    let written = writer.finish().unwrap();
    let file = target.0.lock().unwrap().clone();
    (file, written)
}

fn decompress(file: &[u8]) -> (Compression, Vec<u8>) {
    let input = BufferedInput::new(Box::new(Cursor::new(file.to_vec())));
    let (kind, mut text) = open_text(input, &compression::UnpackOptions::default()).unwrap();
    let mut all = Vec::new();
    loop {
        let piece = text.fill_buffer().unwrap();
        let count = piece.len();
        all.extend_from_slice(piece);
        text.consume(count);
        if count == 0 {
            return (kind, all);
        }
    }
}

/// Returns compressible text, which shrinks to a third, followed by incompressible
/// bytes.
fn text(size: u32) -> Vec<u8> {
    let mixed = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i >> 3).wrapping_mul(40_503);
    let letters = (0..size).map(|i| b"ACGT"[(mixed(i) >> 30) as usize]);
    let noise = (0..size / 2).map(|i| (mixed(mixed(i)) >> 24) as u8);
    letters.chain(noise).collect()
}

#[test]
fn written_text_reads_back_for_any_compression_level_and_threads() {
    let text = text(600_000);
    for kind in [Compression::None, Compression::Gzip, Compression::Bgzip] {
        for (level, threads) in [(0, 1), (1, 3), (9, 2)] {
            let given = WriterOptions {
                level,
                ..options(kind, threads)
            };
            let (file, written) = pack(&text, given, 70_001);
            assert_eq!(written.text, text.len() as u64);
            assert!(decompress(&file) == (kind, text.clone()), "{kind} {level}");
        }
    }
}

#[test]
fn the_same_text_gives_the_same_bytes() {
    let text = text(700_000);
    for kind in [Compression::Gzip, Compression::Bgzip] {
        let (file, written) = pack(&text, options(kind, 1), usize::MAX);
        for (threads, part) in [(1, 999), (4, 65_537)] {
            assert!(pack(&text, options(kind, threads), part) == (file.clone(), written.clone()));
        }
    }
}

#[test]
fn gzip_headers_contain_neither_time_nor_name() {
    let (file, _) = pack(b">a\nACGT\n", options(Compression::Gzip, 1), 99);
    assert_eq!(file[..8], [0x1F, 0x8B, 8, 0, 0, 0, 0, 0]);
}

#[test]
fn an_empty_text_is_a_valid_compressed_file() {
    let (file, written) = pack(b"", options(Compression::Bgzip, 2), 1);
    assert_eq!((file.len(), written.blocks), (28, vec![]));
    let (file, _) = pack(b"", options(Compression::Gzip, 1), 1);
    assert_eq!(decompress(&file), (Compression::Gzip, vec![]));
}

#[test]
fn reading_can_continue_at_every_block_offset() {
    let text = text(300_000);
    let (file, written) = pack(&text, options(Compression::Bgzip, 3), 1000);
    assert_eq!(written.blocks.len(), text.len().div_ceil(0xFF00) - 1);
    for (at, position) in written.blocks {
        let rest = &file[usize::try_from(at).unwrap()..];
        assert!(decompress(rest).1 == text[usize::try_from(position).unwrap()..]);
    }
}

#[test]
fn records_are_written_as_text() {
    let columns = RecordColumns {
        before: 0,
        headers: Ragged::new(b"a xb", &[0, 3, 4]).unwrap(),
        sequences: Ragged::new(b"ACGTA", &[0, 5, 5]).unwrap(),
        qualities: Ragged::new(b"IIII!", &[0, 5, 5]).ok(),
    };
    for (format, text) in [
        (Format::Fasta, &b">a x\nAC\nGT\nA\n>b\n"[..]),
        (Format::Fastq, b"@a x\nACGTA\n+\nIIII!\n@b\n\n+\n\n"),
    ] {
        let target = SharedBuffer::default();
        let given = WriterOptions {
            line_width: Some(2),
            ..WriterOptions::new(format)
        };
        let mut writer = RecordWriter::new(Box::new(target.clone()), given).unwrap();
        writer.write(&columns).unwrap();
        assert_eq!(writer.finish().unwrap().records, 2);
        assert_eq!(*target.0.lock().unwrap(), text);
    }
}

#[test]
fn invalid_options_are_errors() {
    for given in [
        WriterOptions {
            level: 10,
            ..WriterOptions::new(Format::Fasta)
        },
        WriterOptions {
            line_width: Some(0),
            ..WriterOptions::new(Format::Fasta)
        },
        options(Compression::Xz, 1),
    ] {
        assert!(RecordWriter::new(Box::new(io::sink()), given).is_err());
    }
}

#[test]
fn a_full_disk_is_an_error() {
    struct FullDisk;
    impl Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for kind in [Compression::None, Compression::Gzip, Compression::Bgzip] {
        let mut writer = RecordWriter::new(Box::new(FullDisk), options(kind, 2)).unwrap();
        let outcome = writer.write_text(&[b'A'; 9]).and_then(|()| writer.finish());
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
