//! An open `.bed` file, which several threads can read at any position.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

use seqloom_core::error::{Fault, FaultKind};
use seqloom_core::{Error, Result, system::read_at};

use super::layout::{BedLayout, HEADER_BYTES, MAGIC_BYTES, Major};

/// An open `.bed` file. The file is not memory-mapped, because the process would be
/// killed if a mapped file shrank.
#[derive(Debug)]
pub struct Bed {
    path: PathBuf,
    file: File,
    /// The modification time when the file was opened; `None` if the system does not
    /// provide it.
    written: Option<SystemTime>,
    major: OnceLock<Major>,
    /// The first warning about the file, which is returned to a caller only once.
    warning: OnceLock<String>,
    is_warning_taken: AtomicBool,
    /// True if all rows are padded with the same code other than 0.
    is_filled: AtomicBool,
}

impl Bed {
    /// Opens a file. If `check` is true, the first three bytes are validated now, else
    /// at the first read.
    pub fn open(path: &Path, check: bool) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, &error))?;
        let facts = file.metadata().map_err(|error| Error::io(path, &error))?;
        let bed = Self {
            path: path.to_path_buf(),
            written: facts.modified().ok(),
            file,
            major: OnceLock::new(),
            warning: OnceLock::new(),
            is_warning_taken: false.into(),
            is_filled: false.into(),
        };
        if check {
            bed.major()?;
        }
        Ok(bed)
    }

    /// Returns the warning about the rows read so far, unless this warning was already
    /// returned.
    pub fn take_warning(&self) -> Option<String> {
        let warning = self.warning.get()?;
        let is_new = !self.is_warning_taken.swap(true, Relaxed);
        is_new.then(|| format!("{}: {warning}", self.path.display()))
    }

    /// Stores a warning, unless a warning is stored already.
    pub(super) fn set_warning(&self, warning: String) {
        let _ = self.warning.set(warning);
    }

    /// Stores the warning that all rows are padded with the same code other than 0.
    pub(super) fn set_filler_warning(&self, warning: String) {
        self.is_filled.store(true, Relaxed);
        self.set_warning(warning);
    }

    /// Returns whether all rows are padded with the same code other than 0.
    pub(super) fn has_filler_padding(&self) -> bool {
        self.is_filled.load(Relaxed)
    }

    /// Returns the path of the file, as the caller passed it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads from the third byte of the file whether each row is a variant or an
    /// individual.
    pub fn major(&self) -> Result<Major> {
        if let Some(major) = self.major.get() {
            return Ok(*major);
        }
        let mut header = [0; HEADER_BYTES];
        let size = self.size()?;
        if size < HEADER_BYTES as u64 {
            return Err(self.header_error(format!(
                "expected a .bed, which begins with the bytes 6c 1b and 01 or 00; the file has {size} bytes"
            )));
        }
        self.read_at(0, &mut header)?;
        let major = self.parse_header(header)?;
        Ok(*self.major.get_or_init(|| major))
    }

    /// Returns the layout of a file with this number of individuals and variants. The
    /// length of the file must agree with this layout.
    pub fn layout(&self, individuals: usize, variants: usize) -> Result<BedLayout> {
        let layout = BedLayout {
            major: self.major()?,
            individuals,
            variants,
        };
        self.check_size(&layout)?;
        Ok(layout)
    }

    /// Checks that the file still has the length required by the layout and was not
    /// modified.
    pub fn check_size(&self, layout: &BedLayout) -> Result<()> {
        let (found, expected) = (self.size()?, layout.file_bytes());
        if Some(found) == expected {
            return self.check_unchanged();
        }
        let short = expected.is_none_or(|expected| found < expected);
        let expected = expected.map_or("at least 2^64".to_owned(), |e| e.to_string());
        let positions = layout.row_genotypes();
        let hint = "the .fam or .bim belongs to another file, or the .bed was truncated or is being written";
        Err(self.to_error(Fault {
            kind: if short { FaultKind::Cut } else { FaultKind::Length },
            message: format!(
                "expected {expected} bytes for {layout}: 3, and {} lines of {positions} positions, four in a byte; \
                 found {found}; {hint}",
                layout.lines()
            ),
            ..Fault::default()
        }))
    }

    /// Returns an error if the file was modified since it was opened, because earlier
    /// and later reads may not be consistent.
    pub fn check_unchanged(&self) -> Result<()> {
        let facts = self.file.metadata();
        let facts = facts.map_err(|error| Error::io(&self.path, &error))?;
        if facts.modified().ok() == self.written {
            return Ok(());
        }
        Err(self.to_error(Fault::of_file(
            "was written since it was opened: open it again",
        )))
    }

    /// Fills `out` with consecutive whole rows, from row `first`.
    pub fn read_lines(&self, layout: &BedLayout, first: usize, out: &mut [u8]) -> Result<()> {
        self.read_at(layout.row_offset(first), out)
    }

    /// Fills `out` with the bytes from an offset.
    pub fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            match read_at(&self.file, at, out) {
                Ok(0) => return Err(self.truncated_file_error(at)),
                Ok(count) => {
                    at += count as u64;
                    out = out.get_mut(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path, &error)),
            }
        }
        Ok(())
    }

    /// Returns the current size of the file in bytes.
    pub fn size(&self) -> Result<u64> {
        let facts = self.file.metadata();
        Ok(facts.map_err(|error| Error::io(&self.path, &error))?.len())
    }

    /// Returns an error about this file.
    pub fn to_error(&self, fault: Fault) -> Error {
        Error::format(&self.path, fault)
    }

    fn parse_header(&self, [first, second, mode]: [u8; HEADER_BYTES]) -> Result<Major> {
        if [first, second] != MAGIC_BYTES {
            return Err(self.header_error(format!(
                "expected a .bed, which begins with the bytes 6c 1b; found {first:02x} {second:02x}"
            )));
        }
        match mode {
            0 => Ok(Major::Individual),
            1 => Ok(Major::Variant),
            _ => Err(self.header_error(format!(
                "expected 01 (a line is a variant) or 00 (an individual) in byte 2; found {mode:02x}; \
                 PLINK 2 (.pgen) is converted: plink2 --pfile NAME --make-bed --out NEW"
            ))),
        }
    }

    fn header_error(&self, message: String) -> Error {
        self.to_error(Fault {
            kind: FaultKind::Header,
            message,
            ..Fault::default()
        })
    }

    fn truncated_file_error(&self, at: u64) -> Error {
        self.to_error(Fault {
            kind: FaultKind::Cut,
            byte: Some(at),
            message: format!("the file was truncated at byte {at} while it was being read"),
            ..Fault::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::padding;
    use crate::padding::PaddingCheck;

    /// A temporary file with the given content, which `drop` removes.
    struct TemporaryBed(PathBuf);

    impl TemporaryBed {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let folder = std::env::temp_dir().join(format!("seqloom-bed-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join(name);
            fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for TemporaryBed {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn fault_kind(error: Error) -> FaultKind {
        match error {
            Error::Format { fault, .. } => fault.kind,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn an_invalid_header_is_an_error() {
        for (number, bytes) in [&b"\x6c"[..], b"\x6c\x1a\x01", b"\x6c\x1b\x02"]
            .iter()
            .enumerate()
        {
            let file = TemporaryBed::new(&format!("header{number}.bed"), bytes);
            assert_eq!(
                fault_kind(Bed::open(&file.0, true).unwrap_err()),
                FaultKind::Header
            );
            let later = Bed::open(&file.0, false).unwrap();
            assert_eq!(
                fault_kind(later.layout(1, 0).unwrap_err()),
                FaultKind::Header
            );
        }
    }

    #[test]
    fn a_file_length_that_does_not_match_the_tables_is_an_error() {
        let file = TemporaryBed::new("length.bed", b"\x6c\x1b\x01abcd");
        let bed = Bed::open(&file.0, true).unwrap();
        let mut lines = [0; 2];
        let layout = bed.layout(5, 2).unwrap();
        bed.read_lines(&layout, 1, &mut lines).unwrap();
        assert_eq!(&lines, b"cd");
        assert_eq!(fault_kind(bed.layout(5, 3).unwrap_err()), FaultKind::Cut);
        assert_eq!(fault_kind(bed.layout(5, 1).unwrap_err()), FaultKind::Length);
        assert_eq!(
            fault_kind(bed.layout(usize::MAX, 9).unwrap_err()),
            FaultKind::Cut
        );
    }

    #[test]
    fn a_file_that_is_written_while_it_is_open_is_an_error() {
        let file = TemporaryBed::new("written.bed", b"\x6c\x1b\x01abcd");
        let bed = Bed::open(&file.0, true).unwrap();
        let layout = bed.layout(5, 2).unwrap();
        let later = fs::File::options().write(true).open(&file.0).unwrap();
        later.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let error = bed.check_size(&layout).unwrap_err().to_string();
        assert!(error.contains("open it again"), "{error}");
    }

    #[test]
    fn a_fam_that_is_short_by_less_than_a_byte_is_an_error() {
        let file = TemporaryBed::new("short.bed", b"\x6c\x1b\x01\x0f\x03\x3f");
        let bed = Bed::open(&file.0, true).unwrap();
        assert!(padding::check_padding(&bed, &bed.layout(3, 3).unwrap()).is_ok());
        let error = padding::check_padding(&bed, &bed.layout(2, 3).unwrap()).unwrap_err();
        assert!(error.to_string().contains("in variant 2"), "{error}");
    }

    #[test]
    fn a_fam_that_may_be_long_by_less_than_a_byte_is_a_warning_if_there_are_many_rows() {
        let mut bytes = b"\x6c\x1b\x01".to_vec();
        bytes.extend([0b0000_1111; 64]);
        let file = TemporaryBed::new("long.bed", &bytes);
        let bed = Bed::open(&file.0, true).unwrap();
        assert!(padding::check_padding(&bed, &bed.layout(2, 64).unwrap()).is_ok());
        let layout = bed.layout(3, 64).unwrap();
        let padding = PaddingCheck::default();
        padding.add_lines(&bed, &layout, 0, &bytes[3..66]).unwrap();
        assert!(padding.validate(&bed, &layout).is_ok());
        assert_eq!(bed.take_warning(), None, "not all lines were seen");
        padding::check_padding(&bed, &bed.layout(4, 64).unwrap()).unwrap();
        let note = bed.take_warning().unwrap();
        assert!(note.contains("the last 2 of 4"), "{note}");
        assert_eq!(bed.take_warning(), None);
    }

    #[test]
    fn equal_padding_codes_are_a_warning_and_different_codes_an_error() {
        for (name, filler) in [
            ("fill1", 0b0101_0000),
            ("fill2", 0b1010_0000),
            ("fill3", 0b1111_0000),
        ] {
            let mut bytes = b"\x6c\x1b\x01".to_vec();
            bytes.extend((0..8_u8).map(|line| filler | line));
            let file = TemporaryBed::new(name, &bytes);
            let bed = Bed::open(&file.0, true).unwrap();
            padding::check_padding(&bed, &bed.layout(2, 8).unwrap()).unwrap();
            assert!(bed.take_warning().unwrap().contains("after the last of 2"));
            let other = Bed::open(&file.0, true).unwrap();
            assert!(padding::check_padding(&other, &other.layout(1, 8).unwrap()).is_err());
        }
        let file = TemporaryBed::new("fill4", &[b"\x6c\x1b\x01", &[0b1001_0011; 8][..]].concat());
        let bed = Bed::open(&file.0, true).unwrap();
        assert!(padding::check_padding(&bed, &bed.layout(2, 8).unwrap()).is_err());
        let file = TemporaryBed::new("fill5", &[b"\x6c\x1b\x01", &[0b1111_0011; 7][..]].concat());
        let bed = Bed::open(&file.0, true).unwrap();
        assert!(
            padding::check_padding(&bed, &bed.layout(2, 7).unwrap()).is_err(),
            "too few lines for a warning"
        );
    }

    #[test]
    fn padding_bits_are_an_error_that_names_line_and_byte() {
        // With three individuals, the upper two bits of the byte of each row are
        // padding.
        let file = TemporaryBed::new("odd.bed", b"\x6c\x1b\x01\x0f\x2a\x6a\x15");
        let bed = Bed::open(&file.0, true).unwrap();
        let layout = bed.layout(3, 4).unwrap();
        let mut lines = [0; 4];
        for (line, out) in lines.chunks_mut(1).enumerate() {
            bed.read_lines(&layout, line, out).unwrap();
        }
        let Err(Error::Format { fault, .. }) =
            PaddingCheck::default().add_lines(&bed, &layout, 0, &lines)
        else {
            panic!("genotypes were treated as padding");
        };
        assert_eq!((fault.record, fault.byte), (Some(2), Some(5)));
    }
}
