use std::fs::OpenOptions;
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use super::*;

/// A stream that returns one byte per read, and is interrupted before each byte.
struct InterruptedReader(Cursor<Vec<u8>>, bool);

impl Read for InterruptedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(ErrorKind::Interrupted.into());
        }
        let one = out.len().min(1);
        self.0.read(&mut out[..one])
    }
}

/// A unique file path. The file is removed when this value is dropped.
struct TemporaryPath(PathBuf);

impl TemporaryPath {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("seqloom-{}-{name}", process::process_id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads a file to its end, and calls `change` in between.
fn read_while_changing(scratch: &TemporaryPath, change: impl Fn(&Path)) -> io::Result<usize> {
    let mut input = BufferedInput::open(&scratch.0)?;
    let mut piece = vec![0; 1000];
    let mut count = input.read_some(&mut piece)?;
    change(&scratch.0);
    loop {
        match input.read_some(&mut piece)? {
            0 => return Ok(count),
            more => count += more,
        }
    }
}

#[test]
fn short_and_interrupted_reads_return_all_bytes() {
    let mut input = BufferedInput::new(Box::new(InterruptedReader(
        Cursor::new(b"ACGT".to_vec()),
        false,
    )));
    assert_eq!(input.fill_to(3).unwrap(), b"ACG");
    input.consume(2);
    assert_eq!(input.fill_to(9).unwrap(), b"GT");
    assert_eq!(
        (input.position(), input.bytes_read(), input.at_end()),
        (2, 4, true)
    );
}

#[test]
fn buffered_bytes_are_returned_before_the_file_is_read_again() {
    let mut input = BufferedInput::new(Box::new(Cursor::new(b"ACGTACGT".to_vec())));
    input.fill_to(1).unwrap();
    let mut out = [0; 3];
    assert_eq!(input.read_some(&mut out).unwrap(), 3);
    assert_eq!((&out, input.position()), (b"ACG", 3));
    assert_eq!(input.read_some(&mut [0; 9]).unwrap(), 5);
    assert_eq!(input.read_some(&mut out).unwrap(), 0);
    assert_eq!((input.position(), input.at_end()), (8, true));
}

#[test]
fn a_folder_is_an_error() {
    let error = BufferedInput::open(Path::new("/")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::IsADirectory);
}

#[test]
fn an_unchanged_file_is_read_to_its_end() {
    let scratch = TemporaryPath::new("same", &[b'A'; 5000]);
    assert_eq!(read_while_changing(&scratch, |_| ()).unwrap(), 5000);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let grow = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"ACGT").unwrap();
    };
    let shrink = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(2000).unwrap();
    };
    let touch = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    for (name, change) in [
        ("grow", &grow as &dyn Fn(&Path)),
        ("shrink", &shrink),
        ("touch", &touch),
    ] {
        let scratch = TemporaryPath::new(name, &[b'A'; 5000]);
        let error = read_while_changing(&scratch, change).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("changed while it was being read"),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_returns_its_old_text() {
    let scratch = TemporaryPath::new("replaced", &[b'A'; 5000]);
    let other = TemporaryPath::new("replacement", b"B");
    let replace = |path: &Path| std::fs::rename(&other.0, path).unwrap();
    assert_eq!(read_while_changing(&scratch, replace).unwrap(), 5000);
}

#[test]
fn a_named_pipe_is_read_to_its_end() {
    let path = std::env::temp_dir().join(format!("seqloom-{}-pipe", process::process_id()));
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let target = path.clone();
    let writer = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(target).unwrap();
        (0..100).for_each(|_| pipe.write_all(&[b'A'; 999]).unwrap());
    });
    let mut input = BufferedInput::open(&path).unwrap();
    assert!(!input.is_regular());
    assert_eq!(input.fill_to(1 << 20).unwrap().len(), 99_900);
    writer.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}
