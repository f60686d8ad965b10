//! Everything that can go wrong with data, in one enum.
//!
//! An error says where, what was expected and what was found. Python sees it
//! as a class of `seqloom.errors`; `seqloom-py` translates in one position.

use std::fmt;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file is there, and cannot be opened or read.
    #[error("{}: {message}", path.display())]
    File {
        /// The path as it was given.
        path: PathBuf,
        /// What the operating system said.
        message: String,
    },
    /// The file's content is not what it should be.
    #[error("{}: {fault}", path.display())]
    Format {
        /// The path as it was given.
        path: PathBuf,
        /// Where and what.
        fault: Box<Fault>,
    },
    /// A record for which the memory does not suffice.
    #[error("{}: {fault}", path.display())]
    Memory {
        /// The path as it was given.
        path: PathBuf,
        /// Which record.
        fault: Box<Fault>,
    },
    /// A number of a file that does not fit its type.
    #[error("{}: {fault}", path.display())]
    Range {
        /// The path as it was given.
        path: PathBuf,
        /// Where and what.
        fault: Box<Fault>,
    },
    /// Something that is no record of a file, for which the memory does not suffice.
    #[error("{message}")]
    Full {
        /// What did not fit.
        message: String,
    },
    /// A letter that the encoder does not take.
    #[error("sequence {record}, position {position}: found {:?}, expected {expected}", char::from(*letter))]
    Letter {
        /// Index of the sequence in the call.
        record: usize,
        /// Zero-based position in the sequence.
        position: usize,
        /// The byte that was found.
        letter: u8,
        /// The letters that are taken.
        expected: Box<str>,
    },
    /// An argument that makes no sense.
    #[error("{message}")]
    Argument {
        /// What was expected and what was given.
        message: String,
    },
    /// An index beyond the end.
    #[error("{message}")]
    OutOfRange {
        /// What was asked for, and the size.
        message: String,
    },
}

impl Error {
    /// An [`Error::Argument`].
    pub fn argument(message: impl Into<String>) -> Self {
        Self::Argument {
            message: message.into(),
        }
    }

    /// An [`Error::Full`].
    pub fn full(message: impl Into<String>) -> Self {
        Self::Full {
            message: message.into(),
        }
    }

    /// An [`Error::Format`], or an [`Error::Memory`] or [`Error::Range`] where that is the
    /// fault.
    pub fn format(path: &Path, fault: Fault) -> Self {
        let (path, fault) = (path.to_path_buf(), Box::new(fault));
        match fault.kind {
            Kind::Memory => Self::Memory { path, fault },
            Kind::Range => Self::Range { path, fault },
            _ => Self::Format { path, fault },
        }
    }

    /// [`Error::Missing`] or [`Error::File`], by the kind of `error`.
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

/// What kind of fault: one word, by which faults are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Not the format that was expected.
    #[default]
    Format,
    /// The compressed data is cut or damaged.
    Compression,
    /// Something else stands where a record should begin, or a header is bad.
    Header,
    /// A byte that is no letter.
    Letter,
    /// A byte that is no quality of the declared encoding.
    Quality,
    /// Letters and qualities differ in number.
    Length,
    /// The line of `+` names another record.
    Names,
    /// The text ends inside a record.
    Cut,
    /// Longer than a limit.
    Limit,
    /// A comment.
    Comment,
    /// Not the expected number of records.
    Count,
    /// The memory does not suffice.
    Memory,
    /// A number does not fit its type.
    Range,
}

impl fmt::Display for Kind {
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

/// A cause for which callers suggest a remedy.
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

/// A fault in a file's content: where it stands and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: Kind,
    /// The cause, if callers suggest a remedy for it.
    pub cause: Option<FaultCause>,
    /// Zero-based number of the record.
    pub record: Option<u64>,
    /// The record's id, as far as it can be shown.
    pub id: Option<String>,
    /// One-based line of the decompressed text.
    pub line: Option<u64>,
    /// Zero-based byte: of the decompressed text, or of the compressed file
    /// where the fault lies in the compressed data.
    pub byte: Option<u64>,
    /// What was expected and what was found.
    pub message: String,
}

impl Fault {
    /// A fault of the file as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// A fault in the compressed data, at a byte of the compressed file.
    pub fn compressed(byte: u64, message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Compression,
            byte: Some(byte),
            ..Self::whole(message)
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
    /// "record 3 (id), line 9, byte 120 of the text: ", or nothing for a fault that
    /// says itself which byte it means.
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
            kind: Kind::Letter,
            cause: None,
            record: Some(3),
            id: Some("seq4".into()),
            line: Some(9),
            byte: Some(120),
            message: "expected a letter, found a space".into(),
        };
        assert_eq!(
            Error::format(Path::new("a.fa"), fault).to_string(),
            "a.fa: record 3 (seq4), line 9, byte 120 of the text: expected a letter, found a space"
        );
    }

    #[test]
    fn a_fault_of_the_whole_file_names_the_file() {
        let error = Error::format(Path::new("a.fa"), Fault::whole("the file is empty"));
        assert_eq!(error.to_string(), "a.fa: the file is empty");
    }

    #[test]
    fn a_file_that_is_not_there_is_missing() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(matches!(
            Error::io(Path::new("x"), &error),
            Error::Missing { .. }
        ));
    }
}
