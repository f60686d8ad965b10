//! Counts the ends of sequenced fragments, which are lines of a text file.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::{Path, PathBuf};

use seqloom_compression::input::BufferedInput;
use seqloom_compression::lines::Lines;
use seqloom_compression::{ReadError, UnpackOptions, open_text};
use seqloom_core::error::{Error, Result};

use crate::bedgraph::located;
use crate::track::Entries;

type Outcome<T> = std::result::Result<T, String>;

/// Rules of counting ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndRules {
    /// The numbers that are added to the ends on the plus and on the minus strand.
    pub shift: (i64, i64),
    /// True if counts are multiplied by the fifth column, the number of duplicates.
    pub count_duplicates: bool,
    /// True if ends outside of the genome are left out; otherwise they are errors.
    pub drop_outside: bool,
}

/// The ends of the fragments of one contig. An end is its position in the upper 32 bits,
/// and its count in the lower 32 bits.
#[derive(Debug, Default)]
pub struct ContigEnds {
    /// The number of the contig in the genome, or `None` for a contig that is not there.
    contig: Option<usize>,
    plus: Vec<u64>,
    minus: Vec<u64>,
}

impl ContigEnds {
    /// The number of the contig in the genome.
    pub fn contig(&self) -> usize {
        self.contig.unwrap_or_default()
    }

    /// Returns the counts of both strands together.
    pub fn into_counts(self) -> Entries {
        let mut ends = self.plus;
        ends.extend(self.minus);
        to_entries(ends)
    }

    /// Returns the counts of the plus and of the minus strand.
    pub fn into_strands(self) -> [Entries; 2] {
        [to_entries(self.plus), to_entries(self.minus)]
    }
}

/// Returns the count of each position; neighbours with equal counts are one range.
fn to_entries(mut ends: Vec<u64>) -> Entries {
    // Ends of sorted files are nearly sorted, which makes the stable sort the quicker one.
    #[expect(clippy::stable_sort_primitive, reason = "see above")]
    ends.sort();
    let mut out = Entries::default();
    let mut last_count = 0;
    for same in ends.chunk_by(|one, other| one >> 32 == other >> 32) {
        let place = same.first().map_or(0, |end| end >> 32);
        let count: u64 = same.iter().map(|end| end & u64::from(u32::MAX)).sum();
        #[expect(
            clippy::cast_precision_loss,
            reason = "bigWig files have 32-bit floats"
        )]
        let value = count as f32;
        let start = u32::try_from(place).unwrap_or(u32::MAX);
        match out.stops.last_mut() {
            Some(stop) if *stop == start && last_count == count => *stop = start + 1,
            _ => out.push(start, start + 1, value),
        }
        last_count = count;
    }
    out
}

/// A fragment of a line.
struct Fragment<'a> {
    name: &'a [u8],
    start: u32,
    stop: u32,
    count: u32,
}

/// A reader of a file of fragments: plain, or compressed in any supported format.
///
/// The columns are contig, start, stop, and optionally barcode and count. Fragments of a
/// contig must be together; their order does not matter.
pub struct Fragments {
    path: PathBuf,
    lines: Lines,
    numbers: HashMap<Vec<u8>, usize>,
    lengths: Vec<u32>,
    rules: EndRules,
    /// The contigs of the lines read so far; the name of the last one is also in `name`.
    begun: HashSet<Vec<u8>>,
    name: Vec<u8>,
    ends: ContigEnds,
    tally: FragmentTally,
}

/// Counts of fragments and ends.
#[derive(Clone, Debug, Default)]
pub struct FragmentTally {
    /// The number of fragments on contigs of the genome.
    pub fragments: u64,
    /// The number of ends outside of their contigs, which are left out.
    pub outside: u64,
    /// The number of fragments on each contig that the genome lacks, which are left out.
    pub absent: Vec<(String, u64)>,
}

impl Fragments {
    /// Opens a file. `contigs` are the names and lengths of the genome.
    pub fn open(path: &Path, contigs: Vec<(String, u32)>, rules: EndRules) -> Result<Self> {
        let input = BufferedInput::open(path).map_err(|error| Error::io(path, &error))?;
        let opened = open_text(input, &UnpackOptions::default());
        let (_, text) = opened.map_err(|error| to_error(path, error))?;
        let lengths = contigs.iter().map(|(_, length)| *length).collect();
        let names = contigs.into_iter().map(|(name, _)| name.into_bytes());
        Ok(Self {
            path: path.to_path_buf(),
            lines: Lines::new(text),
            numbers: names.enumerate().map(|(at, name)| (name, at)).collect(),
            lengths,
            rules,
            begun: HashSet::new(),
            name: Vec::new(),
            ends: ContigEnds::default(),
            tally: FragmentTally::default(),
        })
    }

    /// Counts of the fragments that were read.
    pub fn tally(&self) -> &FragmentTally {
        &self.tally
    }

    /// Returns the ends of the next contig of the file that is in the genome.
    pub fn next_contig(&mut self) -> Result<Option<ContigEnds>> {
        self.read_contig()
            .map_err(|error| to_error(&self.path, error))
    }

    fn read_contig(&mut self) -> std::result::Result<Option<ContigEnds>, ReadError> {
        let mut counter = Counter {
            numbers: &self.numbers,
            lengths: &self.lengths,
            rules: self.rules,
            begun: &mut self.begun,
            name: &mut self.name,
            ends: &mut self.ends,
            tally: &mut self.tally,
        };
        while let Some(line) = self.lines.next_line()? {
            let is_first = counter.begun.is_empty();
            let parsed = parse(line.text, self.rules.count_duplicates, is_first);
            let found = parsed.and_then(|it| it.map_or(Ok(None), |it| counter.add(&it)));
            let done = found.map_err(|message| located(&line, message))?;
            if let Some(done) = done.filter(|it| it.contig.is_some()) {
                return Ok(Some(done));
            }
        }
        let last = mem::take(&mut self.ends);
        Ok(Some(last).filter(|it| it.contig.is_some()))
    }

    /// Returns the contigs, starts and stops of up to `count` fragments that are within
    /// the contigs of the genome.
    pub fn sample(&mut self, count: usize) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>)> {
        let mut out = (Vec::new(), Vec::new(), Vec::new());
        while out.0.len() < count {
            let next = self.lines.next_line();
            let Some(line) = next.map_err(|error| to_error(&self.path, error))? else {
                break;
            };
            let parsed = parse(line.text, false, false)
                .map_err(|message| to_error(&self.path, located(&line, message)))?;
            let Some(it) = parsed else { continue };
            let Some(contig) = self.numbers.get(it.name) else {
                continue;
            };
            if self.lengths.get(*contig).is_some_and(|end| it.stop <= *end) {
                out.0.push(i64::try_from(*contig).unwrap_or_default());
                out.1.push(i64::from(it.start));
                out.2.push(i64::from(it.stop));
            }
        }
        Ok(out)
    }
}

/// The state of `Fragments` apart from its lines.
struct Counter<'a> {
    numbers: &'a HashMap<Vec<u8>, usize>,
    lengths: &'a [u32],
    rules: EndRules,
    begun: &'a mut HashSet<Vec<u8>>,
    name: &'a mut Vec<u8>,
    ends: &'a mut ContigEnds,
    tally: &'a mut FragmentTally,
}

impl Counter<'_> {
    /// Adds a fragment. If it is the first of a contig, returns the ends of the last one.
    fn add(&mut self, fragment: &Fragment<'_>) -> Outcome<Option<ContigEnds>> {
        let mut done = None;
        if fragment.name != self.name.as_slice() || self.begun.is_empty() {
            done = Some(self.begin(fragment.name)?);
        }
        match self.ends.contig {
            None => {
                if let Some((_, count)) = self.tally.absent.last_mut() {
                    *count += 1;
                }
            }
            Some(contig) => self.add_ends(contig, fragment)?,
        }
        Ok(done)
    }

    fn begin(&mut self, name: &[u8]) -> Outcome<ContigEnds> {
        let shown = String::from_utf8_lossy(name).into_owned();
        if !self.begun.insert(name.to_vec()) {
            return Err(format!(
                "fragments of {shown} come again after those of another contig; sort the \
                 file (sort -k1,1 -k2,2n)"
            ));
        }
        let contig = self.numbers.get(name).copied();
        if contig.is_none() {
            if !self.rules.drop_outside {
                return Err(format!(
                    "the genome has no contig {shown:?}; pass the genome of the fragments, \
                     or outside=\"drop\" (--outside drop), which leaves such fragments out"
                ));
            }
            self.tally.absent.push((shown, 0));
        }
        name.clone_into(self.name);
        let next = ContigEnds {
            contig,
            ..ContigEnds::default()
        };
        Ok(mem::replace(self.ends, next))
    }

    fn add_ends(&mut self, contig: usize, fragment: &Fragment<'_>) -> Outcome<()> {
        self.tally.fragments += 1;
        let length = self.lengths.get(contig).copied().unwrap_or_default();
        let plus = i64::from(fragment.start) + self.rules.shift.0;
        let minus = i64::from(fragment.stop) - 1 + self.rules.shift.1;
        for (place, ends) in [(plus, &mut self.ends.plus), (minus, &mut self.ends.minus)] {
            match u32::try_from(place).ok().filter(|it| *it < length) {
                Some(place) => ends.push(u64::from(place) << 32 | u64::from(fragment.count)),
                None if self.rules.drop_outside => self.tally.outside += 1,
                None => {
                    return Err(format!(
                        "an end is at position {place}, outside of the {length} bases of {}; \
                         pass the genome of the fragments, or outside=\"drop\" (--outside \
                         drop), which leaves such ends out",
                        String::from_utf8_lossy(fragment.name)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Returns the fragment of a line, or `None` for a comment or an empty line.
fn parse(text: &[u8], with_count: bool, is_first: bool) -> Outcome<Option<Fragment<'_>>> {
    let text = text.trim_ascii_end();
    let is_header = [&b"#"[..], b"track", b"browser"]
        .iter()
        .any(|word| text.starts_with(word));
    if text.is_empty() || is_header {
        return Ok(None);
    }
    let mut fields = text.split(|byte| *byte == b'\t');
    let (Some(name), Some(start), Some(stop)) = (fields.next(), fields.next(), fields.next())
    else {
        return Err(
            "expected at least three columns (contig, start, stop), separated by tabs".to_owned(),
        );
    };
    let (start, stop) = (to_number("start", start)?, to_number("stop", stop)?);
    if start >= stop {
        return Err(format!("expected start < stop, found {start} and {stop}"));
    }
    let column = fields.nth(1);
    if is_first && matches!(fields.next(), Some(b"+" | b"-")) {
        return Err(
            "the sixth column is a strand: these are reads, not fragments, and a read has \
             one end; pass a file with one line for each pair of reads"
                .to_owned(),
        );
    }
    let count = if with_count { to_count(column)? } else { 1 };
    Ok(Some(Fragment {
        name,
        start,
        stop,
        count,
    }))
}

fn to_count(column: Option<&[u8]>) -> Outcome<u32> {
    let column = column.ok_or(
        "expected a fifth column with the number of duplicates; do not count duplicates if \
         there is none",
    )?;
    match to_number("the number of duplicates", column)? {
        0 => Err("the number of duplicates must be at least 1, found 0".to_owned()),
        count => Ok(count),
    }
}

fn to_number(name: &str, text: &[u8]) -> Outcome<u32> {
    let digits = text.iter().try_fold(0_u32, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    });
    digits.filter(|_| !text.is_empty()).ok_or_else(|| {
        let shown = String::from_utf8_lossy(text);
        format!("{name} must be an integer of at least 0, found {shown:?}")
    })
}

fn to_error(path: &Path, error: ReadError) -> Error {
    match error {
        ReadError::Io(error) => Error::io(path, &error),
        ReadError::Damage(fault) => Error::format(path, fault),
    }
}
