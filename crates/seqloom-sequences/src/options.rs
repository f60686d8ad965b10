//! How a file is to be read.

use std::fmt;

use seqloom_core::{Error, Result};

use seqloom_compression as compression;

/// What records are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Headers of `>`, and letters.
    Fasta,
    /// Headers of `@`, letters, and a quality for each letter.
    Fastq,
}

impl Format {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
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

/// How FASTQ's quality letters stand for numbers: declared, never guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QualityEncoding {
    /// `!` is 0 (Sanger, and Illumina since 1.8).
    #[default]
    Phred33,
    /// `@` is 0 (Illumina 1.3 to 1.7).
    Phred64,
    /// `;` is -5, on a scale of its own (Solexa).
    Solexa,
}

impl QualityEncoding {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
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
    /// The lowest byte; the highest is `~` for all.
    pub fn lowest(self) -> u8 {
        match self {
            Self::Phred33 => b'!',
            Self::Phred64 => b'@',
            Self::Solexa => b';',
        }
    }
}

/// What a fault in a record does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// It ends the reading.
    #[default]
    Raise,
    /// The record is left out, and counted.
    Skip,
    /// The record is left out, counted, and the fault kept.
    Collect,
}

impl OnError {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
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

/// What lines of FASTA that begin with `;` or `#` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comments {
    /// A fault.
    #[default]
    Error,
    /// Nothing: they are left out.
    Skip,
}

impl Comments {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
            "comments",
            name,
            &[("error", Self::Error), ("skip", Self::Skip)],
        )
    }
}

/// What blanks between the letters of FASTA are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    /// A fault.
    #[default]
    Error,
    /// Nothing: they are left out.
    Strip,
}

impl Whitespace {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
            "whitespace",
            name,
            &[("error", Self::Error), ("strip", Self::Strip)],
        )
    }
}

/// What a record is whose header has no word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingIds {
    /// A fault.
    #[default]
    Error,
    /// A record whose id is its number in the file, from 0 on.
    Number,
}

impl MissingIds {
    /// The one of this name.
    pub fn named(name: &str) -> Result<Self> {
        choose(
            "ids",
            name,
            &[("error", Self::Error), ("number", Self::Number)],
        )
    }
}

/// Options for reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderOptions {
    /// What the file must be; nothing takes what it is.
    pub format: Option<Format>,
    /// How qualities are written.
    pub quality: QualityEncoding,
    /// What a fault in a record does.
    pub on_error: OnError,
    /// What comments in FASTA are.
    pub comments: Comments,
    /// What blanks between letters of FASTA are.
    pub whitespace: Whitespace,
    /// What a header without a word is.
    pub ids: MissingIds,
    /// The most letters of a record; nothing is 64 Mi for FASTQ, and no limit
    /// for FASTA, where a record may be a chromosome.
    pub max_record: Option<u64>,
    /// How many records the file must hold.
    pub expect: Option<u64>,
    /// Whether bgzip must end with the block that says so.
    pub require_eof: bool,
    /// Whether batches have the qualities of FASTQ; they are checked in any case.
    pub with_qualities: bool,
    /// How many threads may read, the caller's among them; with one, nothing
    /// runs ahead.
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

/// The default limit of the number of letters of a FASTQ record.
const MAX_READ: u64 = 64 << 20;

impl ReaderOptions {
    /// How the file is unpacked.
    pub fn unpacking(&self) -> compression::UnpackOptions {
        compression::UnpackOptions {
            threads: self.threads,
            require_eof: self.require_eof,
        }
    }

    /// The most letters that a record of `format` may have.
    pub fn limit(&self, format: Format) -> u64 {
        let usual = match format {
            Format::Fasta => u64::MAX,
            Format::Fastq => MAX_READ,
        };
        self.max_record.unwrap_or(usual)
    }
}

fn choose<T: Copy>(what: &str, name: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(choice, _)| *choice == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        let names = names.join(", ");
        Error::argument(format!("{what} must be one of {names}; got {name:?}"))
    })
}
