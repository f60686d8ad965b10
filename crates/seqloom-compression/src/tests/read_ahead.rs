//! Tests of decompression in a separate thread.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::thread;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::containers::compress_in_every_format;
use super::*;

/// Returns the number of threads of this process whose names begin with this prefix.
fn count_threads(name: &str) -> usize {
    let names = fs::read_dir("/proc/self/task").unwrap().flatten();
    names
        .filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok())
        .filter(|result| result.starts_with(name))
        .count()
}

/// Waits up to a minute until no thread has a name with this prefix, because threads of
/// other tests may exist for a while. Returns false if a thread with this prefix still
/// exists after a minute.
pub(super) fn all_threads_have_ended(name: &str) -> bool {
    let start = Instant::now();
    while count_threads(name) > 0 {
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    true
}

#[test]
fn several_threads_return_the_same_text_as_one() {
    let text = random_bases(1_500_000);
    for (kind, file) in compress_in_every_format(&text) {
        for count in [2, 5] {
            let (result, outcome) = read_all_text(
                input_with_small_reads(&file, 100_000),
                &options_with_threads(count),
            );
            assert!(outcome.is_ok(), "{kind}");
            assert!(result == text, "{kind}");
        }
    }
}

#[test]
fn a_truncated_file_returns_its_text_before_the_error() {
    let text = random_bases(1_500_000);
    let file = gzip_bytes(&text);
    let truncated = &file[..file.len() - 9];
    let (result, outcome) = read_all_text(
        input_with_small_reads(truncated, usize::MAX),
        &options_with_threads(2),
    );
    assert!(error_message(outcome).contains("is truncated: the file ends at byte"));
    assert!(text.starts_with(&result));
    assert!(result.len() > text.len() - 1000);
    assert!(all_threads_have_ended("seqloom-ahead"));
}

#[test]
fn dropping_a_reader_early_ends_its_thread() {
    let text = random_bases(1_500_000);
    for (kind, file) in compress_in_every_format(&text) {
        let (_, mut unpacked) = open_text(
            input_with_small_reads(&file, 10_000),
            &options_with_threads(3),
        )
        .unwrap();
        for _ in 0..3 {
            let count = unpacked.fill_buffer().unwrap().len();
            unpacked.consume(count);
        }
        drop(unpacked);
        assert!(all_threads_have_ended("seqloom-"), "{kind}");
    }
}

#[test]
fn a_small_file_starts_no_thread() {
    let (_, mut unpacked) = open_text(
        input_with_small_reads(&gzip_bytes(&random_bases(400_000)), 10_000),
        &options_with_threads(4),
    )
    .unwrap();
    let mut size = 0;
    while let count @ 1.. = unpacked.fill_buffer().unwrap().len() {
        size += count;
        unpacked.consume(count);
    }
    assert_eq!(size, 400_000);
}

#[test]
fn a_read_error_is_returned_after_the_text_before_it() {
    struct FailingReader(Cursor<Vec<u8>>);
    impl Read for FailingReader {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::Error::other("the disk is gone")),
                count => Ok(count),
            }
        }
    }
    let text = random_bases(1_200_000);
    for (kind, file) in compress_in_every_format(&text) {
        let half = file[..file.len() / 2].to_vec();
        let input = BufferedInput::new(Box::new(FailingReader(Cursor::new(half))));
        let (result, outcome) = read_all_text(input, &options_with_threads(2));
        assert!(
            error_message(outcome).contains("the disk is gone"),
            "{kind}"
        );
        assert!(text.starts_with(&result), "{kind}");
    }
}

#[test]
fn a_thread_that_reads_ahead_returns_the_text_of_a_plain_file() {
    let text = random_bases(3_000_001);
    let path = std::env::temp_dir().join(format!("seqloom-{}-plain", std::process::id()));
    fs::write(&path, &text).unwrap();
    for count in [1, 2] {
        let (result, outcome) = read_all_text(
            BufferedInput::open(&path).unwrap(),
            &options_with_threads(count),
        );
        assert!(outcome.is_ok() && result == text);
    }
    let (_, mut begun) = open_text(
        BufferedInput::open(&path).unwrap(),
        &options_with_threads(2),
    )
    .unwrap();
    for _ in 0..2 {
        let count = begun.fill_buffer().unwrap().len();
        begun.consume(count);
    }
    drop(begun);
    assert!(all_threads_have_ended("seqloom-ahead"));
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_plain_file_that_grows_while_it_is_read_ahead_is_an_error() {
    let path = std::env::temp_dir().join(format!("seqloom-{}-grown", std::process::id()));
    fs::write(&path, random_bases(9_000_000)).unwrap();
    let (_, mut text) = open_text(
        BufferedInput::open(&path).unwrap(),
        &options_with_threads(2),
    )
    .unwrap();
    let count = text.fill_buffer().unwrap().len();
    text.consume(count);
    fs::write(&path, random_bases(9_000_001)).unwrap();
    let outcome = loop {
        match text.fill_buffer().map(<[u8]>::len) {
            Ok(0) => break Ok(()),
            Ok(count) => text.consume(count),
            Err(error) => break Err(error),
        }
    };
    fs::remove_file(&path).unwrap();
    assert!(error_message(outcome).contains("changed while it was being read"));
}

#[test]
fn a_named_pipe_gives_the_same_text_as_a_file() {
    let text = random_bases(1_200_000);
    for (kind, file) in compress_in_every_format(&text) {
        let name = format!("seqloom-{}-{kind}-pipe", std::process::id());
        let path = std::env::temp_dir().join(name);
        let status = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(status.success());
        let target = path.clone();
        let writer = thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(target).unwrap();
            file.chunks(70_000)
                .for_each(|part| pipe.write_all(part).unwrap());
        });
        let (result, outcome) = read_all_text(
            BufferedInput::open(&path).unwrap(),
            &options_with_threads(2),
        );
        assert!(outcome.is_ok() && result == text, "{kind}");
        writer.join().unwrap();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn an_open_pipe_does_not_block_its_reader() {
    let text = random_bases(1_200_000);
    let path = std::env::temp_dir().join(format!("seqloom-{}-open-pipe", std::process::id()));
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    // The pipe is opened for reading and writing, so that neither process waits and the
    // pipe never ends.
    let mut pipe = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let file = gzip_bytes(&text);
    let writer = thread::spawn(move || {
        pipe.write_all(&file[..file.len() - 4]).unwrap();
        pipe
    });
    let (_, mut unpacked) = open_text(
        BufferedInput::open(&path).unwrap(),
        &options_with_threads(2),
    )
    .unwrap();
    let mut result = Vec::new();
    while result.len() < 1_190_000 {
        let piece = unpacked.fill_buffer().unwrap();
        let count = piece.len();
        result.extend_from_slice(piece);
        unpacked.consume(count);
    }
    drop(unpacked);
    assert!(text.starts_with(&result));
    drop(writer.join().unwrap());
    fs::remove_file(&path).unwrap();
}
