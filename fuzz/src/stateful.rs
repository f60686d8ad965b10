//! Makes a sequence of calls on one file, and compares each result with a list of
//! records.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_index::{BuildOptions, Index, IndexState, build_in_memory, open_reader};
use seqloom_load::packed::{Origin, RecordFiles, SequenceFile};
use seqloom_sequences::{Batch, Reader, ReaderOptions};

use crate::choices::Choices;
use crate::records::{Packing, Record, Records, of_batch};
use crate::scratch;

/// Maximal number of calls.
const MAX_CALLS: usize = 60;

/// Makes a random file, and calls functions of its readers.
pub fn run(mut choices: Choices<'_>) {
    let records = Records::new(&mut choices);
    let packing = Packing::new(&mut choices);
    let path = scratch::write("stateful", &records.file(packing));
    let index_bytes = build_in_memory(&path, &BuildOptions::default()).expect("the file is valid");
    let mut machine = Machine {
        index: open(&path, &index_bytes),
        reader: None,
        files: None,
        records: records.all,
        path,
        index_bytes,
    };
    for _ in 0..MAX_CALLS {
        if choices.is_empty() {
            return;
        }
        machine.step(&mut choices);
    }
}

fn open(path: &Path, index_bytes: &[u8]) -> Arc<Index> {
    let (index, state) =
        Index::from_bytes(path, index_bytes.to_vec(), 1).expect("the index is valid");
    assert_eq!(state, IndexState::Fresh);
    Arc::new(index)
}

/// The open readers, and the records of the file.
struct Machine {
    path: PathBuf,
    index_bytes: Vec<u8>,
    records: Vec<Record>,
    index: Arc<Index>,
    /// A reader, and the index of its next record.
    reader: Option<(Reader, usize)>,
    files: Option<(RecordFiles, usize)>,
}

impl Machine {
    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() % 12 {
            0 | 1 => self.fetch(choices),
            2 => self.headers(choices),
            3 => self.find(choices),
            4 | 5 => self.intervals(choices),
            6 => self.lengths(choices),
            7 => self.index = open(&self.path, &self.index_bytes),
            8 => self.reader = None,
            9 => self.read(choices),
            10 => self.files = Some(self.files_from(choices)),
            _ => self.read_files(),
        }
    }

    /// Returns record numbers, counted from the beginning or the end; a few are out of
    /// range.
    fn numbers(&self, choices: &mut Choices<'_>) -> Vec<i64> {
        let count = self.records.len() as i64;
        let spread = 2 * count + if choices.one_in(8) { 2 } else { 0 };
        let one = |byte: &u8| i64::from(*byte) % spread - spread / 2;
        let size = choices.below(6);
        choices.bytes(size).iter().map(one).collect()
    }

    /// Returns a record; `None` if the number is out of range.
    fn record(&self, number: i64) -> Option<&Record> {
        let count = self.records.len() as i64;
        let number = if number < 0 { number + count } else { number };
        self.records.get(usize::try_from(number).ok()?)
    }

    /// Returns several records; `None` if a number is out of range.
    fn wanted(&self, numbers: &[i64]) -> Option<Vec<Record>> {
        numbers
            .iter()
            .map(|number| self.record(*number).cloned())
            .collect()
    }

    fn fetch(&self, choices: &mut Choices<'_>) {
        let numbers = self.numbers(choices);
        let found = self.index.fetch_records(&numbers, 1);
        let found = found.as_ref().map(of_batch);
        assert_eq!(found.ok(), self.wanted(&numbers), "records {numbers:?}");
    }

    fn headers(&self, choices: &mut Choices<'_>) {
        let numbers = self.numbers(choices);
        let found = self.index.fetch_headers(&numbers).ok();
        let found = found.map(|(text, offsets)| split_at_offsets(&text, &offsets));
        let wanted = self.wanted(&numbers);
        let wanted = wanted.map(|records| records.into_iter().map(|record| record.0).collect());
        assert_eq!(found, wanted, "headers {numbers:?}");
    }

    fn find(&self, choices: &mut Choices<'_>) {
        let id = format!("r{}", choices.below(self.records.len() + 1));
        let found = self
            .index
            .find_by_id(id.as_bytes())
            .expect("the index is valid");
        let is_same =
            |record: &Record| record.0.split(|byte| *byte == b' ').next() == Some(id.as_bytes());
        let all = (0..).zip(&self.records);
        let wanted: Vec<u64> = all
            .filter(|(_, record)| is_same(record))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(found, wanted, "{id}");
    }

    fn intervals(&self, choices: &mut Choices<'_>) {
        let numbers = self.numbers(choices);
        let mut bound = || {
            numbers
                .iter()
                .map(|_| choices.below(80) as i64 - 1)
                .collect::<Vec<_>>()
        };
        let (starts, stops) = (bound(), bound());
        let found = self
            .index
            .fetch_intervals(&numbers, (&starts, &stops), 1)
            .ok();
        let found = found.map(|(text, offsets)| split_at_offsets(&text, &offsets));
        let bounds = starts.iter().zip(&stops);
        let part = |(number, (start, stop)): (&i64, (&i64, &i64))| {
            let bounds = usize::try_from(*start).ok()?..usize::try_from(*stop).ok()?;
            self.record(*number)?.1.get(bounds).map(<[u8]>::to_vec)
        };
        let wanted: Option<Vec<_>> = numbers.iter().zip(bounds).map(part).collect();
        assert_eq!(found, wanted, "{numbers:?} {starts:?} {stops:?}");
    }

    fn lengths(&self, choices: &mut Choices<'_>) {
        let (start, stop) = (choices.below(12), choices.below(12));
        let found = self.index.record_lengths(start as u64..stop as u64);
        let some = self.records.iter().take(stop).skip(start);
        let wanted: Vec<i64> = some.map(|record| record.1.len() as i64).collect();
        assert_eq!(found.expect("the index is valid"), wanted);
    }

    /// Reads the next records; opens a new reader if there is none.
    fn read(&mut self, choices: &mut Choices<'_>) {
        let threads = 1 + choices.below(2);
        let options = ReaderOptions {
            threads,
            ..ReaderOptions::default()
        };
        let new = || {
            (
                open_reader(&self.path, &options).expect("the file is valid"),
                0,
            )
        };
        let (reader, at) = self.reader.get_or_insert_with(new);
        let (records, bytes) = (1 + choices.below(4), 1 + choices.below(999));
        let found = reader
            .read_batch(records, bytes)
            .expect("the file is valid");
        let found = found.as_ref().map(of_batch).unwrap_or_default();
        let left = &self.records[*at..];
        assert!(found.len() <= records && left.starts_with(&found));
        assert_eq!(found.is_empty(), left.is_empty());
        *at += found.len();
    }

    /// Opens the file at a record, with or without its index.
    fn files_from(&self, choices: &mut Choices<'_>) -> (RecordFiles, usize) {
        let record = choices.below(self.records.len() + 1);
        let index = (choices.one_in(2)).then(|| Arc::clone(&self.index));
        let input = SequenceFile {
            path: self.path.clone(),
            index,
        };
        let origin = Origin {
            file: 0,
            record: record as u64,
            ordinal: record as u64,
        };
        (
            RecordFiles::new(vec![input], ReaderOptions::default(), origin, None),
            record,
        )
    }

    fn read_files(&mut self) {
        let Some((files, at)) = &mut self.files else {
            return;
        };
        let mut batch = Batch::default();
        let origin = files.read_batch(&mut batch).expect("the file is valid");
        let found = origin.map(|_| of_batch(&batch)).unwrap_or_default();
        assert!(origin.is_none_or(|origin| origin.record == *at as u64));
        assert!(self.records[*at..].starts_with(&found));
        assert_eq!(found.is_empty(), *at == self.records.len());
        *at += found.len();
    }
}

/// Splits text at the offsets.
fn split_at_offsets(text: &[u8], offsets: &[i64]) -> Vec<Vec<u8>> {
    let part = |pair: &[i64]| text[pair[0] as usize..pair[1] as usize].to_vec();
    offsets.windows(2).map(part).collect()
}
