//! Measures the fastest possible reading of a file, for comparison in `make bench SUITE=fastx`.
//!
//! `floors ROUNDS THREADS FILE` prints the seconds of five tasks in each round as JSON.
//! Two tasks read blocks and count line ends. Three tasks decompress the file: with one
//! thread, with several threads, and with several threads and the index.

#![expect(clippy::print_stdout, reason = "the output of a program")]

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use seqloom_compression::input::BufferedInput;
use seqloom_compression::{ReadError, TextSource, UnpackOptions, open_text};
use seqloom_index::text_by_index;

const READ_BLOCK_BYTES: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, threads, path] = arguments.as_slice() else {
        return Err("expected ROUNDS THREADS FILE".into());
    };
    let (rounds, threads, path) = (rounds.parse::<usize>()?, threads.parse()?, Path::new(path));
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.push(time_all_tasks(path, threads)?);
    }
    let column = |index: usize| all.iter().map(|row| row[index]).collect::<Vec<f64>>();
    println!(
        "{{\"read\": {:?}, \"lines\": {:?}, \"unpack\": {:?}, \"ahead\": {:?}, \"positions\": {:?}}}",
        column(0),
        column(1),
        column(2),
        column(3),
        column(4)
    );
    Ok(())
}

/// Returns the seconds of each of the five tasks.
fn time_all_tasks(path: &Path, threads: usize) -> Result<[f64; 5], Box<dyn Error>> {
    Ok([
        seconds_of(|| read_blocks(path, |_| 0))?,
        seconds_of(|| read_blocks(path, count_lines))?,
        seconds_of(|| decompress(path, 1))?,
        seconds_of(|| decompress(path, threads))?,
        seconds_of(|| decompress_from_index(path, threads))?,
    ])
}

fn seconds_of<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    std::hint::black_box(work()?);
    Ok(start.elapsed().as_secs_f64())
}

fn read_blocks(path: &Path, measure: impl Fn(&[u8]) -> usize) -> Result<usize, Box<dyn Error>> {
    let (mut file, mut block, mut found) = (File::open(path)?, vec![0; READ_BLOCK_BYTES], 0);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(found),
            count => found += measure(&block[..count]),
        }
    }
}

fn count_lines(block: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', block).count()
}

fn decompress(path: &Path, threads: usize) -> Result<usize, Box<dyn Error>> {
    let (_, mut text) = open_text(BufferedInput::open(path)?, &options_with_threads(threads))
        .map_err(to_message)?;
    count_text_bytes(&mut *text)
}

fn decompress_from_index(path: &Path, threads: usize) -> Result<usize, Box<dyn Error>> {
    text_by_index(path, &options_with_threads(threads))
        .map_or(Ok(0), |mut text| count_text_bytes(&mut *text))
}

fn options_with_threads(threads: usize) -> UnpackOptions {
    UnpackOptions {
        threads,
        ..UnpackOptions::default()
    }
}

fn count_text_bytes(text: &mut dyn TextSource) -> Result<usize, Box<dyn Error>> {
    let mut size = 0;
    loop {
        let count = text.fill_buffer().map_err(to_message)?.len();
        if count == 0 {
            return Ok(size);
        }
        size += count;
        text.consume(count);
    }
}

fn to_message(error: ReadError) -> Box<dyn Error> {
    match error {
        ReadError::Io(error) => error.into(),
        ReadError::Damage(fault) => fault.to_string().into(),
    }
}
