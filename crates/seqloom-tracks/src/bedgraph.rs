//! Reads bedGraph text into memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str;

use seqloom_compression::input::BufferedInput;
use seqloom_compression::lines::{Line, Lines};
use seqloom_compression::{ReadError, UnpackOptions, open_text};
use seqloom_core::error::{Error, Fault, Result};

use crate::track::{Contig, Entries};

/// A bedGraph file in memory: 12 bytes for each line.
#[derive(Debug)]
pub struct BedGraph {
    path: PathBuf,
    contigs: Vec<Contig>,
    entries: Vec<Entries>,
    numbers: HashMap<String, usize>,
}

impl BedGraph {
    /// Reads a file: plain, or compressed in any supported format. Entries of a contig must
    /// be sorted, and must not overlap.
    pub fn read(path: &Path) -> Result<Self> {
        let mut made = Self {
            path: path.to_path_buf(),
            contigs: Vec::new(),
            entries: Vec::new(),
            numbers: HashMap::new(),
        };
        let input = BufferedInput::open(path).map_err(|error| Error::io(path, &error))?;
        let opened = open_text(input, &UnpackOptions::default());
        let read = opened.and_then(|(_, text)| made.read_lines(&mut Lines::new(text)));
        match read {
            Ok(()) => Ok(made),
            Err(ReadError::Io(error)) => Err(Error::io(path, &error)),
            Err(ReadError::Damage(fault)) => Err(Error::format(path, fault)),
        }
    }

    fn read_lines(&mut self, lines: &mut Lines) -> std::result::Result<(), ReadError> {
        while let Some(line) = lines.next_line()? {
            let text = line.text.trim_ascii();
            let first = text.split(u8::is_ascii_whitespace).next();
            let is_header = matches!(first, Some(b"track" | b"browser")) || text.starts_with(b"#");
            if !text.is_empty() && !is_header {
                self.add(text).map_err(|message| located(&line, message))?;
            }
        }
        Ok(())
    }

    /// Adds a line; returns what is wrong with it.
    fn add(&mut self, text: &[u8]) -> std::result::Result<(), String> {
        let text = str::from_utf8(text).map_err(|_| "expected text in UTF-8".to_owned())?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [name, start, stop, value] = fields[..] else {
            return Err(format!(
                "expected four columns (contig, start, stop, value), found {}",
                fields.len()
            ));
        };
        let position = |name: &str, text: &str| {
            let number = text.parse::<u32>().ok();
            number.ok_or_else(|| format!("{name} must be an integer of at least 0, found {text:?}"))
        };
        let (start, stop) = (position("start", start)?, position("stop", stop)?);
        let value = value
            .parse::<f32>()
            .map_err(|_| format!("the value must be a number, found {value:?}"))?;
        if start >= stop {
            return Err(format!("expected start < stop, found {start} and {stop}"));
        }
        let entries = self.entries_of(name);
        if let Some(last) = entries.stops.last().filter(|last| start < **last) {
            return Err(format!(
                "the range {name}:{start}-{stop} begins before the last range ends, at {last}; \
                 sort the file (sort -k1,1 -k2,2n), and merge ranges that overlap"
            ));
        }
        entries.push(start, stop, value);
        Ok(())
    }

    fn entries_of(&mut self, name: &str) -> &mut Entries {
        let count = self.contigs.len();
        let number = self.numbers.get(name).copied().unwrap_or(count);
        if number == count {
            self.numbers.insert(name.to_owned(), number);
            self.contigs.push(Contig {
                name: name.to_owned(),
                length: None,
            });
            self.entries.push(Entries::default());
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "the number was found or added above"
        )]
        &mut self.entries[number]
    }

    pub(crate) fn contigs(&self) -> &[Contig] {
        &self.contigs
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls a function with each entry that overlaps a range of a contig.
    pub(crate) fn visit(
        &self,
        contig: usize,
        start: u32,
        stop: u32,
        function: &mut impl FnMut(u32, u32, f32),
    ) {
        let Some(entries) = self.entries.get(contig) else {
            return;
        };
        let first = entries.stops.partition_point(|end| *end <= start);
        let rows = (first..entries.starts.len()).map_while(|row| entries.get(row));
        for (low, high, value) in rows.take_while(|entry| entry.0 < stop) {
            function(low, high, value);
        }
    }
}

/// Returns the error of a line.
pub(crate) fn located(line: &Line<'_>, message: String) -> ReadError {
    ReadError::Damage(Fault {
        line: Some(line.number),
        byte: Some(line.byte),
        message,
        ..Fault::default()
    })
}
