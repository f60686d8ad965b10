use std::cell::Cell;
use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

use seqloom_core::error::FaultKind;
use seqloom_core::interrupt::set_signal_check;
use seqloom_core::{Error, Result};
use sirocco::{Format, compress, deflate::Level};

use super::Reader;
use crate::batch::Batch;
use crate::options::{OnError, ReaderOptions};
use crate::report::ReadReport;
use seqloom_compression::input::BufferedInput;

const FASTA_TEXT: &[u8] = b">a one\nACGT\nAC\n>b\nGG\n>c\n\n>d\nTTTTT\n";

/// An input that returns at most the given number of bytes per read.
struct SmallReads(Cursor<Vec<u8>>, usize);

impl Read for SmallReads {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let size = out.len().min(self.1);
        self.0.read(&mut out[..size])
    }
}

fn open_as(file: &[u8], chunk_size: usize, options: &ReaderOptions) -> Result<Reader> {
    let reads = SmallReads(Cursor::new(file.to_vec()), chunk_size);
    let input = BufferedInput::new(Box::new(reads));
    Reader::new(Path::new("x.fa"), input, options)
}

fn open(file: &[u8]) -> Result<Reader> {
    open_as(file, usize::MAX, &ReaderOptions::default())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    compress(Format::Gzip, Level::DEFAULT, text)
}

/// Returns all batches of a file, or the error.
fn read(file: &[u8], max_records: usize, max_bytes: usize) -> Result<Vec<Batch>> {
    let mut reader = open(file)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.read_batch(max_records, max_bytes)? {
        batches.push(batch);
    }
    Ok(batches)
}

fn load(file: &[u8]) -> Result<Batch> {
    Ok(read(file, usize::MAX, usize::MAX)?.remove(0))
}

fn message(file: &[u8]) -> String {
    load(file).unwrap_err().to_string()
}

#[test]
fn a_batch_stores_records_by_column() {
    let batch = load(FASTA_TEXT).unwrap();
    assert_eq!(batch.data, b"ACGTACGGTTTTT");
    assert_eq!(batch.offsets, [0, 6, 8, 8, 13]);
    assert_eq!(batch.headers, b"a onebcd");
    assert_eq!(batch.header_offsets, [0, 5, 6, 7, 8]);
}

#[test]
fn batches_are_whole_records_up_to_the_limits() {
    let lengths = |batches: Vec<Batch>| batches.iter().map(Batch::len).collect::<Vec<_>>();
    assert_eq!(lengths(read(FASTA_TEXT, 3, usize::MAX).unwrap()), [3, 1]);
    assert_eq!(lengths(read(FASTA_TEXT, 9, 7).unwrap()), [2, 2]);
    assert_eq!(lengths(read(FASTA_TEXT, 9, 1).unwrap()), [1, 1, 2]);
}

#[test]
fn the_limits_must_be_at_least_one() {
    assert!(matches!(
        open(FASTA_TEXT).unwrap().read_batch(0, 1),
        Err(Error::Argument { .. })
    ));
}

#[test]
fn every_read_after_the_end_returns_none() {
    let mut reader = open(FASTA_TEXT).unwrap();
    assert!(reader.read_batch(9, 99).unwrap().is_some());
    assert!(reader.read_batch(9, 99).unwrap().is_none());
    assert!(reader.read_batch(9, 99).unwrap().is_none());
}

#[test]
fn records_before_a_fault_are_returned_and_the_error_repeats() {
    let mut reader = open(b">a\nAC\n>b\nA C\n").unwrap();
    let batch = reader.read_batch(9, 99).unwrap().unwrap();
    assert_eq!((batch.data, batch.headers), (b"AC".to_vec(), b"a".to_vec()));
    for _ in 0..2 {
        let error = reader.read_batch(9, 99).unwrap_err().to_string();
        assert_eq!(
            error,
            "x.fa: record 1 (b), line 4, byte 10 of the text: expected a residue, found a space in column 2; \
             whitespace=\"strip\" (--whitespace strip) removes blanks"
        );
    }
}

#[test]
fn records_before_a_fault_in_a_header_are_complete() {
    let mut reader = open(b">a\nAC\n>\nAC\n").unwrap();
    assert_eq!(reader.read_batch(9, 99).unwrap().unwrap().len(), 1);
    assert!(reader.read_batch(9, 99).is_err());
}

#[test]
fn an_empty_file_is_an_error_compressed_or_not() {
    assert_eq!(
        message(b""),
        "x.fa: the file is empty, expected FASTA or FASTQ"
    );
    assert_eq!(
        message(&gzip(b"")),
        "x.fa: the file is empty, expected FASTA or FASTQ"
    );
}

#[test]
fn a_gzip_truncated_at_any_byte_is_an_error() {
    let file = gzip(FASTA_TEXT);
    for end in 0..file.len() {
        assert!(
            load(&file[..end]).is_err() || read(&file[..end], 1, 1).is_err(),
            "{end}"
        );
    }
}

#[test]
fn invalid_text_from_a_damaged_gzip_is_reported_as_damage() {
    // The data is stored without compression, so that each byte of the text is a byte
    // of the file.
    let mut file = compress(Format::Gzip, Level::NONE, FASTA_TEXT);
    let at = file.windows(4).position(|four| four == b"ACGT").unwrap();
    file[at] = b' ';
    let error = message(&file);
    assert!(error.contains("the gzip data is damaged"), "{error}");
}

/// Returns gzip-compressed FASTA whose first record is invalid and whose checksum is
/// wrong.
fn fasta_with_two_faults(size: usize) -> Vec<u8> {
    let text = [b">a\nA C\n>b\n", &b"A".repeat(size)[..], b"\n"].concat();
    let mut file = compress(Format::Gzip, Level::FASTEST, &text);
    let checksum = file.len() - 8;
    file[checksum] ^= 1;
    file
}

#[test]
fn a_wrong_checksum_after_a_fault_is_found_within_64_mib() {
    let near = message(&fasta_with_two_faults(60 << 20));
    assert!(
        near.contains("the checksum or length of the text"),
        "{near}"
    );
    let far = message(&fasta_with_two_faults(66 << 20));
    assert!(far.contains("blank"), "{far}");
}

/// A slow input that returns a few bytes per read.
struct SlowInput(Cursor<Vec<u8>>);

impl Read for SlowInput {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        let size = out.len().min(512);
        self.0.read(&mut out[..size])
    }
}

#[test]
fn an_interrupt_ends_the_checksum_test() {
    thread_local! { static IS_INTERRUPTED: Cell<bool> = const { Cell::new(false) } }
    set_signal_check(|| {
        let error = IS_INTERRUPTED.get().then_some("interrupted");
        error.map_or(Ok(()), |error| Err(std::io::Error::other(error)))
    });
    let source = SlowInput(Cursor::new(fasta_with_two_faults(32 << 20)));
    let input = BufferedInput::new(Box::new(source));
    let mut reader = Reader::new(Path::new("x.fa"), input, &ReaderOptions::default()).unwrap();
    IS_INTERRUPTED.set(true);
    let error = reader.read_batch(1, usize::MAX).unwrap_err().to_string();
    assert!(error.contains("interrupted"), "{error}");
}

#[test]
fn every_compression_gives_the_same_batch() {
    assert_eq!(load(FASTA_TEXT).unwrap(), load(&gzip(FASTA_TEXT)).unwrap());
}

/// Reads a file with invalid records. Returns the ids of the records, and the report.
fn read_with_faults(
    file: &[u8],
    chunk_size: usize,
    on_error: OnError,
) -> (Vec<String>, ReadReport) {
    let options = ReaderOptions {
        on_error,
        ..ReaderOptions::default()
    };
    let mut reader = open_as(file, chunk_size, &options).unwrap();
    let mut ids = Vec::new();
    while let Some(batch) = reader.read_batch(2, usize::MAX).unwrap() {
        let bound = |at: usize| usize::try_from(batch.header_offsets[at]).unwrap();
        let id = |row| String::from_utf8_lossy(&batch.headers[bound(row)..bound(row + 1)]).into();
        ids.extend((0..batch.len()).map(id));
    }
    (ids, reader.report())
}

fn check_recovery(file: &[u8], ids: &[&str], kinds: &[(FaultKind, u64)]) {
    for chunk_size in [1, 2, 3, 5, 7, 1000] {
        let (found, report) = read_with_faults(file, chunk_size, OnError::Collect);
        assert_eq!(found, ids, "in chunks of {chunk_size}");
        assert_eq!(report.left_out.into_iter().collect::<Vec<_>>(), kinds);
        assert_eq!(
            report.faults.len() as u64,
            kinds.iter().map(|(_, n)| n).sum()
        );
        assert_eq!(report.records, ids.len() as u64);
    }
}

#[test]
fn fasta_continues_at_the_next_header() {
    check_recovery(
        b">a\nAC\n>b\nA C\nGG\n>c\nG\n>\nT\n>d\nAC>e\n>f\nT\n",
        &["a", "c", "f"],
        &[(FaultKind::Header, 1), (FaultKind::Letter, 2)],
    );
}

#[test]
fn fasta_continues_after_text_before_the_first_header() {
    check_recovery(b">\n\n>a\nAC\n>", &["a"], &[(FaultKind::Header, 2)]);
}

#[test]
fn fastq_continues_after_an_invalid_residue() {
    check_recovery(
        b"@a\nAC\n+\nII\n@b\nA C\n+\nIII\n@c\nA\n+\nI\n",
        &["a", "c"],
        &[(FaultKind::Letter, 1)],
    );
}

#[test]
fn a_record_inside_an_invalid_record_is_recovered() {
    // In this file, qualities are missing, so the next header is read as qualities.
    check_recovery(
        b"@a\nACGTACGT\n+\nII\n@b\nA\n+\nI\n@c\nA\n+\nI\n",
        &["b", "c"],
        &[(FaultKind::Length, 1)],
    );
}

#[test]
fn a_quality_line_that_looks_like_a_header_is_not_a_record() {
    check_recovery(
        b"@a\nACGT\n+\n@@II@\n@b\nAC\n+\n@I\n@c\nA\n+x\n@\n@d\nA\n+\n@\n",
        &["b", "d"],
        &[(FaultKind::Length, 1), (FaultKind::Names, 1)],
    );
}

#[test]
fn fastq_that_ends_inside_a_record_loses_only_that_record() {
    check_recovery(
        b"@a\nACGTACGTACGTACGT\n+\nII\n@b\nA\n+\nI\n",
        &["b"],
        &[(FaultKind::Cut, 1)],
    );
    check_recovery(b"@a\nA\n+\nI\n@b\nAC\n+\nI", &["a"], &[(FaultKind::Cut, 1)]);
}

#[test]
fn invalid_lines_between_records_lose_no_record() {
    check_recovery(
        b"@a\nA\n+\nI\nIII\nx\n@b\nA\n+\nI\n",
        &["a", "b"],
        &[(FaultKind::Header, 1)],
    );
}

#[test]
fn faults_are_counted_but_stored_only_when_collected() {
    let (_, report) = read_with_faults(b">a\nA\n>b\nA A\n", 9, OnError::Skip);
    assert_eq!((report.count(), report.faults.len()), (1, 0));
}

#[test]
fn damaged_compressed_data_is_an_error_for_all_options() {
    let file = gzip(FASTA_TEXT);
    let options = ReaderOptions {
        on_error: OnError::Skip,
        ..ReaderOptions::default()
    };
    let mut reader = open_as(&file[..file.len() - 4], 1000, &options).unwrap();
    let mut answer = reader.read_batch(9, 99);
    while matches!(answer, Ok(Some(_))) {
        answer = reader.read_batch(9, 99);
    }
    assert!(answer.is_err());
}

#[test]
fn an_unexpected_number_of_records_is_an_error_at_the_end() {
    let expecting = |expect| {
        let options = ReaderOptions {
            expect: Some(expect),
            ..ReaderOptions::default()
        };
        let mut reader = open_as(FASTA_TEXT, 1000, &options).unwrap();
        assert_eq!(reader.read_batch(9, 99).unwrap().unwrap().len(), 4);
        reader.read_batch(9, 99)
    };
    assert_eq!(expecting(4), Ok(None));
    for wrong in [3, 5] {
        let message = expecting(wrong).unwrap_err().to_string();
        assert_eq!(message, format!("x.fa: expected {wrong} records, found 4"));
    }
}

#[test]
fn refilling_a_batch_does_not_allocate() {
    let text = b"@a\nACGT\n+\nIIII\n".repeat(100);
    let mut reader = open_as(&text, 1000, &ReaderOptions::default()).unwrap();
    let mut batch = Batch::default();
    reader.refill_batch(&mut batch, 10, usize::MAX).unwrap();
    let memory = |batch: &Batch| {
        (
            batch.data.as_ptr(),
            batch.qualities.as_ptr(),
            batch.offsets.as_ptr(),
        )
    };
    let before = memory(&batch);
    while reader.refill_batch(&mut batch, 10, usize::MAX).unwrap() {
        assert_eq!((batch.len(), memory(&batch)), (10, before));
    }
}

#[test]
fn qualities_are_a_column_of_the_batch() {
    let mut reader = open_as(
        b"@a\nACG\n+\nIJK\n@b\n\n+\n\n",
        1000,
        &ReaderOptions::default(),
    )
    .unwrap();
    let batch = reader.read_batch(9, 99).unwrap().unwrap();
    assert!(batch.has_qualities);
    assert_eq!(
        (batch.qualities, batch.offsets),
        (b"IJK".to_vec(), vec![0, 3, 3])
    );
}

/// Reads a FASTQ file without storing the qualities.
fn read_sequences(text: &'static [u8]) -> seqloom_core::Result<Option<Batch>> {
    let options = ReaderOptions {
        with_qualities: false,
        ..ReaderOptions::default()
    };
    open_as(text, 1000, &options).unwrap().read_batch(9, 99)
}

#[test]
fn unwanted_qualities_are_not_stored() {
    let batch = read_sequences(b"@a\nACG\n+\nIJK\n").unwrap().unwrap();
    assert_eq!((batch.data, batch.has_qualities), (b"ACG".to_vec(), false));
    assert!(batch.qualities.is_empty());
}

#[test]
fn unwanted_qualities_are_validated() {
    let message = read_sequences(b"@a\nACG\n+\nI K\n")
        .unwrap_err()
        .to_string();
    assert!(message.contains("line 4"), "{message}");
}

#[test]
fn a_record_of_4_mib_is_read() {
    let text = [b">a\n", &b"ACGT".repeat(1 << 20)[..]].concat();
    assert_eq!(load(&gzip(&text)).unwrap().data.len(), 4 << 20);
}
