//! Measures the time that it takes to read a file: `cargo run --release --example parse
//! FILE [THREADS [RECORDS]]`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for developers"
)]

use std::path::Path;
use std::time::Instant;

use seqloom_sequences::{Batch, Reader, ReaderOptions};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).map(|text| text.parse().unwrap());
    let options = ReaderOptions {
        threads: number(2).unwrap_or(1),
        ..ReaderOptions::default()
    };
    let records = number(3).unwrap_or(4096);
    let mut batch = Batch::default();
    for _ in 0..5 {
        let start = Instant::now();
        let mut reader = Reader::open(Path::new(&arguments[1]), &options).unwrap();
        let (mut count, mut letters) = (0, 0);
        while reader.refill_batch(&mut batch, records, 64 << 20).unwrap() {
            count += batch.len();
            letters += batch.data.len();
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{count} records, {letters} letters: {seconds:.3} s");
    }
}
