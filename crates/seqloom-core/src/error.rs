//! The errors of all crates.
//!
//! An error message states the position, the expected content and the actual content.
//! `seqloom-py` converts each error to an exception class of `seqloom.errors`.

use std::fmt;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error about a file, a sequence or an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not exist.
    #[error("{}: no such file", path.display())]
    Missing {
        /// The path as the caller gave it.
        path: PathBuf,
    },
    /// The file exists but cannot be opened or read.
    #[error("{}: {message}", path.display())]
    File {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The message of the operating system.
        message: String,
    },
    /// The content of the file is invalid.
    #[error("{}: {fault}", path.display())]
    Format {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The position in the file, and a description of the problem.
        fault: Box<Fault>,
    },
    /// A record does not fit in memory.
    #[error("{}: {fault}", path.display())]
    Memory {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The position in the file, and a description of the record.
        fault: Box<Fault>,
    },
    /// A number in a file is outside the range of its type.
    #[error("{}: {fault}", path.display())]
    Range {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The position in the file, and a description of the problem.
        fault: Box<Fault>,
    },
    /// Data that are not a record of a file do not fit in memory.
    #[error("{message}")]
    Full {
        /// A description of the data, and its size in bytes.
        message: String,
    },
    /// A sequence has a character that the encoder does not accept.
    #[error("sequence {record}, position {position}: found {:?}, expected {expected}", char::from(*letter))]
    Letter {
        /// Index of the sequence in the call.
        record: usize,
        /// Zero-based position in the sequence.
        position: usize,
        /// The byte that was found.
        letter: u8,
        /// The accepted characters.
        expected: Box<str>,
    },
    /// An argument is invalid.
    #[error("{message}")]
    Argument {
        /// The expected and the given value.
        message: String,
    },
    /// An index is out of range.
    #[error("{message}")]
    OutOfRange {
        /// The index, and the size that limits it.
        message: String,
    },
}

impl Error {
    /// Returns an [`Error::Argument`].
    pub fn argument(message: impl Into<String>) -> Self {
        Self::Argument {
            message: message.into(),
        }
    }

    /// Returns an [`Error::Full`].
    pub fn full(message: impl Into<String>) -> Self {
        Self::Full {
            message: message.into(),
        }
    }

    /// Returns an [`Error::Memory`], [`Error::Range`] or [`Error::Format`], depending
    /// on the kind of the fault.
    pub fn format(path: &Path, fault: Fault) -> Self {
        let (path, fault) = (path.to_path_buf(), Box::new(fault));
        match fault.kind {
            FaultKind::Memory => Self::Memory { path, fault },
            FaultKind::Range => Self::Range { path, fault },
            _ => Self::Format { path, fault },
        }
    }

    /// Returns an [`Error::Missing`] or [`Error::File`], depending on the kind of
    /// `error`.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_path_buf();
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self::Missing { path };
        }
        Self::File {
            path,
            message: error.to_string(),
        }
    }
}

/// The kind of a fault in a file; reports count faults by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file does not have the expected format.
    #[default]
    Format,
    /// The compressed data are truncated or corrupt.
    Compression,
    /// A record starts with an invalid header, or with text that is not a header.
    Header,
    /// A byte that is not a residue.
    Letter,
    /// A byte that is not a valid quality in the declared encoding.
    Quality,
    /// The numbers of residues and qualities of a record differ.
    Length,
    /// The name in the `+` line differs from the name in the header.
    Names,
    /// The text ends inside a record.
    Cut,
    /// A record is larger than the size limit.
    Limit,
    /// The file contains a comment line.
    Comment,
    /// The file does not have the expected number of records.
    Count,
    /// There is not enough memory for a record.
    Memory,
    /// A number outside the range of its type.
    Range,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "format",
            Self::Compression => "compression",
            Self::Header => "header",
            Self::Letter => "letter",
            Self::Quality => "quality",
            Self::Length => "length",
            Self::Names => "names",
            Self::Cut => "cut",
            Self::Limit => "limit",
            Self::Comment => "comment",
            Self::Count => "count",
            Self::Memory => "memory",
            Self::Range => "range",
        })
    }
}

/// A cause of an error for which callers suggest a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCause {
    /// A header without an id.
    MissingId,
    /// A FASTQ record without a line for its sequence.
    MissingSequenceLine,
    /// The file contains BED intervals.
    Intervals,
    /// The file contains PLINK genotypes.
    Genotypes,
}

impl fmt::Display for FaultCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingId => "missing id",
            Self::MissingSequenceLine => "missing sequence line",
            Self::Intervals => "BED",
            Self::Genotypes => "PLINK",
        })
    }
}

/// A fault in the content of a file: its position and description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The cause, if callers suggest a remedy for it.
    pub cause: Option<FaultCause>,
    /// Zero-based number of the record.
    pub record: Option<u64>,
    /// The id of the record, shortened for display.
    pub id: Option<String>,
    /// One-based line number in the decompressed text.
    pub line: Option<u64>,
    /// Zero-based byte offset in the decompressed text, or in the compressed file if
    /// the compressed data are corrupt.
    pub byte: Option<u64>,
    /// The expected and the actual content.
    pub message: String,
}

impl Fault {
    /// Returns a fault of the whole file, without a position.
    pub fn of_file(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Returns a fault in the compressed data, at a byte offset in the compressed file.
    pub fn in_compressed_data(byte: u64, message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Compression,
            byte: Some(byte),
            ..Self::of_file(message)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.location() {
            write!(f, "{part}")?;
        }
        write!(f, "{}", self.message)
    }
}

impl Fault {
    /// Returns a position such as "record 3 (id), line 9, byte 120 of the text: ".
    /// Returns `None` if the line number is unknown, because the message then states
    /// the byte offset.
    fn location(&self) -> Option<String> {
        let line = self.line?;
        let byte = self.byte.map(|byte| format!(", byte {byte} of the text"));
        let byte = byte.unwrap_or_default();
        let record = match (self.record, &self.id) {
            (Some(record), Some(id)) => format!("record {record} ({id}), "),
            (Some(record), None) => format!("record {record}, "),
            (None, _) => String::new(),
        };
        Some(format!("{record}line {line}{byte}: "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_file_record_line_and_byte() {
        let fault = Fault {
            kind: FaultKind::Letter,
            cause: None,
            record: Some(3),
            id: Some("seq4".into()),
            line: Some(9),
            byte: Some(120),
            message: "expected a residue, found a space".into(),
        };
        assert_eq!(
            Error::format(Path::new("a.fa"), fault).to_string(),
            "a.fa: record 3 (seq4), line 9, byte 120 of the text: expected a residue, found a space"
        );
    }

    #[test]
    fn a_fault_of_the_whole_file_names_the_file() {
        let error = Error::format(Path::new("a.fa"), Fault::of_file("the file is empty"));
        assert_eq!(error.to_string(), "a.fa: the file is empty");
    }

    #[test]
    fn a_not_found_error_becomes_missing() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(matches!(
            Error::io(Path::new("x"), &error),
            Error::Missing { .. }
        ));
    }
}
