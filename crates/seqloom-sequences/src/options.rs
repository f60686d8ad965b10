//! Options for reading files.

use std::fmt;

use seqloom_core::{Error, Result};

use seqloom_compression as compression;

/// The text format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// FASTA: headers that begin with `>`, and residues.
    Fasta,
    /// FASTQ: headers that begin with `@`, residues, and a quality for each residue.
    Fastq,
}

impl Format {
    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "format",
            name,
            &[("fasta", Self::Fasta), ("fastq", Self::Fastq)],
        )
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fasta => "fasta",
            Self::Fastq => "fastq",
        })
    }
}

/// The encoding of FASTQ qualities as characters. The caller must specify the encoding,
/// because it cannot be detected reliably.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QualityEncoding {
    /// The character `!` is quality 0 (Sanger, and Illumina since 1.8).
    #[default]
    Phred33,
    /// The character `@` is quality 0 (Illumina 1.3 to 1.7).
    Phred64,
    /// The character `;` is quality -5, on a different scale (Solexa).
    Solexa,
}

impl QualityEncoding {
    /// Returns the quality encoding with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "quality",
            name,
            &[
                ("phred33", Self::Phred33),
                ("phred64", Self::Phred64),
                ("solexa", Self::Solexa),
            ],
        )
    }
}

impl QualityEncoding {
    /// Returns the lowest valid byte of a quality. The highest valid byte is always
    /// `~`.
    pub fn lowest_byte(self) -> u8 {
        match self {
            Self::Phred33 => b'!',
            Self::Phred64 => b'@',
            Self::Solexa => b';',
        }
    }
}

/// The handling of invalid records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The first invalid record is an error, and reading ends.
    #[default]
    Raise,
    /// Invalid records are skipped and counted.
    Skip,
    /// Invalid records are skipped and counted, and their errors are stored in the
    /// report.
    Collect,
}

impl OnError {
    /// Returns the handling of invalid records with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "on_error",
            name,
            &[
                ("raise", Self::Raise),
                ("skip", Self::Skip),
                ("collect", Self::Collect),
            ],
        )
    }
}

/// The handling of FASTA lines that begin with `;` or `#`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comments {
    /// A comment is an error.
    #[default]
    Error,
    /// Comments are skipped.
    Skip,
}

impl Comments {
    /// Returns the handling of comments with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "comments",
            name,
            &[("error", Self::Error), ("skip", Self::Skip)],
        )
    }
}

/// The handling of blanks between FASTA residues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    /// A blank between residues is an error.
    #[default]
    Error,
    /// Blanks between residues are removed.
    Strip,
}

impl Whitespace {
    /// Returns the handling of blanks with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "whitespace",
            name,
            &[("error", Self::Error), ("strip", Self::Strip)],
        )
    }
}

/// The handling of records without an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingIds {
    /// A missing id is an error.
    #[default]
    Error,
    /// A record without an id gets its index in the file, from 0, as its id.
    Number,
}

impl MissingIds {
    /// Returns the handling of missing ids with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        parse_choice(
            "ids",
            name,
            &[("error", Self::Error), ("number", Self::Number)],
        )
    }
}

/// Options for reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderOptions {
    /// The required format of the file, or `None` to detect the format.
    pub format: Option<Format>,
    /// The encoding of qualities.
    pub quality: QualityEncoding,
    /// The handling of invalid records.
    pub on_error: OnError,
    /// The handling of comments in FASTA.
    pub comments: Comments,
    /// The handling of blanks between FASTA residues.
    pub whitespace: Whitespace,
    /// The handling of records without an id.
    pub ids: MissingIds,
    /// The maximum number of residues in a record. `None` sets a limit of 64 Mi for
    /// FASTQ, but no limit for FASTA, in which a record may be a chromosome.
    pub max_record: Option<u64>,
    /// The number of records that the file must contain, or `None` for any number.
    pub expect: Option<u64>,
    /// True if a bgzip file must end with the end-of-file block.
    pub require_eof: bool,
    /// True if batches contain the qualities of FASTQ. Qualities are always validated.
    pub with_qualities: bool,
    /// The number of threads for reading, including the caller's thread. With one
    /// thread, nothing is read in advance.
    pub threads: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            format: None,
            quality: QualityEncoding::default(),
            on_error: OnError::default(),
            comments: Comments::default(),
            whitespace: Whitespace::default(),
            ids: MissingIds::default(),
            max_record: None,
            expect: None,
            require_eof: true,
            with_qualities: true,
            threads: 1,
        }
    }
}

/// The default maximum number of residues in a FASTQ record.
const DEFAULT_FASTQ_LIMIT: u64 = 64 << 20;

impl ReaderOptions {
    /// Returns the options for decompression.
    pub fn unpack_options(&self) -> compression::UnpackOptions {
        compression::UnpackOptions {
            threads: self.threads,
            require_eof: self.require_eof,
        }
    }

    /// Returns the maximum number of residues in a record of this format.
    pub fn max_residues(&self, format: Format) -> u64 {
        let default = match format {
            Format::Fasta => u64::MAX,
            Format::Fastq => DEFAULT_FASTQ_LIMIT,
        };
        self.max_record.unwrap_or(default)
    }
}

fn parse_choice<T: Copy>(argument: &str, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(choice, _)| *choice == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        let names = names.join(", ");
        Error::argument(format!("{argument} must be one of {names}; got {name:?}"))
    })
}
