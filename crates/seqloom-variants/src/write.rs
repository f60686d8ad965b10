//! Writes a VCF file with the records of another file and further INFO fields.

use std::io::Write;
use std::path::{Path, PathBuf};

use seqloom_compression::{Compression, temporary_file::TemporaryFile};
use seqloom_core::number::as_u64;
use seqloom_core::{Error, Ragged, Result};
use seqloom_sequences::options::Format;
use seqloom_sequences::write::{RecordWriter, WriterOptions};

use crate::header::attribute_id;
use crate::index_writer::{IndexBuilder, IndexedRecord};
use crate::numbers::parse_position;
use crate::reader::VariantReader;
use crate::region::reference_end;
use crate::vcf::FixedColumns;

/// A declaration of an INFO field that the writer adds to the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoLine {
    /// The name.
    pub id: String,
    /// The number of values: an integer, `A`, `R`, `G` or `.`.
    pub number: String,
    /// The type: `Integer`, `Float`, `Flag`, `Character` or `String`.
    pub kind: String,
    /// The description.
    pub description: String,
}

/// A summary of a file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantSummary {
    /// The number of records.
    pub records: u64,
    /// The name of the index file, if it was written.
    pub index: Option<PathBuf>,
    /// The reason why a bgzip file has no index.
    pub no_index: Option<String>,
}

/// A writer of a VCF file. The file exists only after [`finish`](Self::finish).
pub struct VariantWriter {
    source: VariantReader,
    target: PathBuf,
    file: TemporaryFile,
    out: RecordWriter,
    threads: usize,
    /// The names of the added fields.
    ids: Vec<Vec<u8>>,
    /// `None` if the file is not bgzip.
    index: Option<IndexBuilder>,
    records: u64,
    /// The number of bytes that were passed to the compressor.
    offset: u64,
    /// The text of the last record of the source.
    record: Vec<u8>,
    /// The bytes that were not passed to the compressor yet.
    text: Vec<u8>,
}

/// The number of bytes of text that are passed to the compressor at once.
const BUFFER_BYTES: usize = 1 << 20;

impl VariantWriter {
    /// Creates a writer. The name of the target decides the compression: `.gz` and `.bgz`
    /// mean bgzip with an index.
    pub fn new(
        target: &Path,
        source: VariantReader,
        (info, threads): (&[InfoLine], usize),
    ) -> Result<Self> {
        let of_target = |error| Error::io(target, &error);
        let is_packed = target
            .extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("gz") || it.eq_ignore_ascii_case("bgz"));
        let options = WriterOptions {
            compression: if is_packed {
                Compression::Bgzip
            } else {
                Compression::None
            },
            threads,
            // The format has no effect on `write_text`.
            ..WriterOptions::new(Format::Fasta)
        };
        let file = TemporaryFile::create(target).map_err(of_target)?;
        let out = RecordWriter::new(Box::new(file.file().map_err(of_target)?), options)?;
        let lengths = source.header().contigs.iter().filter_map(|it| it.length);
        let index = IndexBuilder::new(lengths.max().unwrap_or_default());
        let ids = info.iter().map(|line| line.id.as_bytes().to_vec());
        let mut writer = Self {
            target: target.to_path_buf(),
            file,
            out,
            threads,
            ids: ids.collect(),
            index: is_packed.then_some(index),
            records: 0,
            offset: 0,
            record: Vec::new(),
            text: Vec::new(),
            source,
        };
        writer.add_header(info)?;
        Ok(writer)
    }

    fn add_header(&mut self, info: &[InfoLine]) -> Result<()> {
        let text = self.source.header().text.clone();
        if !text.starts_with(b"##fileformat=") {
            self.text.extend_from_slice(b"##fileformat=VCFv4.2\n"); // other programs need it
        }
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let declared = line.strip_prefix(b"##INFO=<").and_then(attribute_id);
            if declared.is_some_and(|id| self.ids.iter().any(|added| added == id)) {
                continue;
            }
            if line.starts_with(b"#CHROM") {
                for added in info {
                    self.text.extend_from_slice(added.to_text()?.as_bytes());
                }
            }
            self.text.extend_from_slice(line);
        }
        self.flush()
    }

    /// Adds a text to INFO of each of the next records of the source, and writes the
    /// records. An empty text adds nothing.
    pub fn write(&mut self, texts: Ragged<'_>) -> Result<()> {
        for text in texts.iter() {
            check_info(text)?;
            if !self.source.read_text(&mut self.record)? {
                return Err(Error::argument(format!(
                    "the texts have more rows than {} has records ({}); pass one per record",
                    self.source.path().display(),
                    self.records
                )));
            }
            self.add_record(text)?;
            if self.text.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn add_record(&mut self, added: &[u8]) -> Result<()> {
        let record = std::mem::take(&mut self.record);
        let fixed = self.source.of_record(FixedColumns::split(&record))?;
        let start = self.offset + as_u64(self.text.len());
        let rest = fixed.samples.map_or(0, |samples| samples.len() + 1);
        let before = record.len() - rest - fixed.info.len();
        let out = &mut self.text;
        out.extend_from_slice(record.get(..before).unwrap_or_default());
        let info_start = out.len();
        for entry in fixed.info.split(|byte| *byte == b';') {
            let key = entry.split(|byte| *byte == b'=').next();
            let is_replaced = self.ids.iter().any(|id| Some(id.as_slice()) == key);
            if !(is_replaced || matches!(entry, b"" | b".")) {
                push_entry(out, info_start, entry);
            }
        }
        if !added.is_empty() {
            push_entry(out, info_start, added);
        }
        if out.len() == info_start {
            out.push(b'.');
        }
        let position = parse_position(fixed.position).unwrap_or_default() - 1;
        let info = out.get(info_start..).unwrap_or_default();
        let range = (position, reference_end(position, fixed.reference, info));
        out.extend_from_slice(record.get(record.len() - rest..).unwrap_or_default());
        out.push(b'\n');
        let end = self.offset + as_u64(out.len());
        if let Some(index) = &mut self.index {
            index.add(&IndexedRecord {
                chrom: fixed.chrom,
                range,
                text: (start, end),
            });
        }
        self.records += 1;
        self.record = record;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.out.write_text(&self.text);
        written.map_err(|error| Error::io(&self.target, &error))?;
        self.offset += as_u64(self.text.len());
        self.text.clear();
        Ok(())
    }

    /// Completes the file and its index, and renames them from their temporary names.
    pub fn finish(mut self) -> Result<VariantSummary> {
        if self.source.read_text(&mut self.record)? {
            return Err(Error::argument(format!(
                "{} texts were written, but {} has more records; pass one text per record",
                self.records,
                self.source.path().display()
            )));
        }
        self.flush()?;
        let target = self.target;
        let of_target = |error| Error::io(&target, &error);
        let summary = self.out.finish().map_err(of_target)?;
        let blocks: Vec<(u64, u64)> = [(0, 0)].into_iter().chain(summary.blocks).collect();
        // The index of an earlier file with this name would be wrong.
        for suffix in [".tbi", ".csi"] {
            let _ = std::fs::remove_file(with_suffix(&target, suffix));
        }
        self.file.commit(&target).map_err(of_target)?;
        let mut summary = VariantSummary {
            records: self.records,
            ..VariantSummary::default()
        };
        match self.index.map(|index| index.finish(&blocks)) {
            None => {}
            Some(Err(reason)) => summary.no_index = Some(reason),
            Some(Ok((kind, bytes))) => {
                let path = with_suffix(&target, kind.suffix());
                write_index(&path, &bytes, self.threads)?;
                summary.index = Some(path);
            }
        }
        Ok(summary)
    }
}

fn push_entry(out: &mut Vec<u8>, start: usize, entry: &[u8]) {
    if out.len() > start {
        out.push(b';');
    }
    out.extend_from_slice(entry);
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

fn write_index(path: &Path, bytes: &[u8], threads: usize) -> Result<()> {
    let of_path = |error| Error::io(path, &error);
    let file = TemporaryFile::create(path).map_err(of_path)?;
    let options = WriterOptions {
        compression: Compression::Bgzip,
        threads,
        ..WriterOptions::new(Format::Fasta)
    };
    let target: Box<dyn Write + Send + Sync> = Box::new(file.file().map_err(of_path)?);
    let mut out = RecordWriter::new(target, options)?;
    out.write_text(bytes).map_err(of_path)?;
    out.finish().map_err(of_path)?;
    file.commit(path).map_err(of_path)
}

/// Returns an error if a text cannot be a part of INFO.
fn check_info(text: &[u8]) -> Result<()> {
    let invalid = |byte: &u8| byte.is_ascii_whitespace();
    match text.iter().find(|byte| invalid(byte)) {
        None => Ok(()),
        Some(byte) => Err(Error::argument(format!(
            "a text for INFO has {:?}; INFO must not have tabs, spaces or line ends",
            char::from(*byte)
        ))),
    }
}

impl InfoLine {
    fn to_text(&self) -> Result<String> {
        let Self {
            id,
            number,
            kind,
            description,
        } = self;
        let mut characters = id.bytes();
        let is_id = characters.all(|it| it.is_ascii_alphanumeric() || b"_.".contains(&it));
        if id.is_empty() || !is_id {
            return Err(Error::argument(format!(
                "info: an id must have only A-Z, a-z, 0-9, _ and ., got {id:?}"
            )));
        }
        let is_count = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        if !is_count && !["A", "R", "G", "."].contains(&number.as_str()) {
            return Err(Error::argument(format!(
                "info: the number of {id} must be an integer, A, R, G or ., got {number:?}"
            )));
        }
        if !["Integer", "Float", "Flag", "Character", "String"].contains(&kind.as_str()) {
            return Err(Error::argument(format!(
                "info: the type of {id} must be Integer, Float, Flag, Character or String, got {kind:?}"
            )));
        }
        if description.contains(['\n', '\r']) {
            return Err(Error::argument(format!(
                "info: the description of {id} must be one line, got {description:?}"
            )));
        }
        let description = description.replace('\\', "\\\\").replace('"', "\\\"");
        Ok(format!(
            "##INFO=<ID={id},Number={number},Type={kind},Description=\"{description}\">\n"
        ))
    }
}
