//! The files of an export, in a folder or a zip.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use seqloom_core::{Error, Result, error::Fault};
use zip::{CompressionMethod, ZipArchive};

use crate::Limits;

/// The names of the files that an export may contain.
pub(crate) const EXPORT_FILES: [&str; 6] = [
    "export.json",
    "graph.json",
    "graph-unpadded.json",
    "model.safetensors",
    "encoder.json",
    "encoder.safetensors",
];

/// The source of the files: a folder or a zip.
pub(crate) enum ExportFiles {
    /// A folder of files, and the number of bytes that may still be read.
    Folder(PathBuf, Cell<usize>),
    Memory(BTreeMap<String, Vec<u8>>),
}

impl ExportFiles {
    /// Opens a folder, or a zip without compression.
    pub(crate) fn open(path: &Path, limits: Limits) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Folder(
                path.to_path_buf(),
                Cell::new(limits.memory_bytes),
            ));
        }
        let zip = read_file(path, &Cell::new(limits.memory_bytes))?;
        if !zip.starts_with(b"PK") {
            let message = "expected an exported model, a folder or a zip that `seqloom export` wrote; \
                           this file is neither";
            return Err(Error::format(path, Fault::of_file(message)));
        }
        Self::from_zip(zip).map_err(|error| Error::format(path, Fault::of_file(error.to_string())))
    }

    /// Reads the files of a zip without compression.
    pub(crate) fn from_zip(zip: Vec<u8>) -> Result<Self> {
        let bad = |message: String| Error::argument(format!("zip of an exported model: {message}"));
        // Entries of a zip may overlap, so the files may be larger than the zip.
        let mut left = zip.len() as u64;
        let mut archive =
            ZipArchive::new(Cursor::new(zip)).map_err(|error| bad(error.to_string()))?;
        let mut files = BTreeMap::new();
        for number in 0..archive.len() {
            let file = archive
                .by_index(number)
                .map_err(|error| bad(error.to_string()))?;
            let (name, size) = (file.name().to_owned(), file.size());
            if file.compression() != CompressionMethod::Stored || size != file.compressed_size() {
                return Err(bad(format!(
                    "{name} is compressed: write it stored (zip -0)"
                )));
            }
            if !EXPORT_FILES.contains(&name.as_str()) || files.contains_key(&name) {
                return Err(bad(format!(
                    "expected one each of {EXPORT_FILES:?}, found {name:?}"
                )));
            }
            let rest = left.checked_sub(size);
            left = rest.ok_or_else(|| bad("its files are larger than the zip".to_owned()))?;
            let mut bytes = Vec::new();
            let read = file.take(size).read_to_end(&mut bytes);
            read.map_err(|error| bad(format!("{name}: {error}")))?;
            files.insert(name, bytes);
        }
        Ok(Self::Memory(files))
    }

    /// Returns true if there is a file with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Folder(folder, _) => folder.join(name).exists(),
            Self::Memory(files) => files.contains_key(name),
        }
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        match self {
            Self::Folder(folder, left) => read_file(&folder.join(name), left),
            Self::Memory(files) => {
                let missing = || self.error(name, "the zip has no such file");
                files.get(name).cloned().ok_or_else(missing)
            }
        }
    }

    /// Returns an error about a file.
    pub(crate) fn error(&self, name: &str, message: impl Into<String>) -> Error {
        let path = match self {
            Self::Folder(folder, _) => folder.join(name),
            Self::Memory(_) => PathBuf::from(name),
        };
        Error::format(&path, Fault::of_file(message))
    }
}

/// Reads a file, and subtracts its size from `left`, the number of bytes that may still
/// be read.
fn read_file(path: &Path, left: &Cell<usize>) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::io(path, &error);
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        let message = "expected a regular file";
        return Err(Error::format(path, Fault::of_file(message)));
    }
    let limit = left.get();
    let full = |size: u64| {
        let path = path.display();
        Error::full(format!(
            "{path} has {size} bytes, more than the {limit} that may be used for it: give a larger \
             limit (--memory)"
        ))
    };
    let size = found.len();
    let capacity = usize::try_from(size).ok().filter(|&size| size <= limit);
    let capacity = capacity.ok_or_else(|| full(size))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(capacity).map_err(|_| full(size))?;
    // One byte more than allowed is read, to detect a file that has grown since its
    // size was read.
    let most = (limit as u64).saturating_add(1);
    let file = File::open(path).map_err(failed)?;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let rest = limit.checked_sub(bytes.len());
    left.set(rest.ok_or_else(|| full(bytes.len() as u64))?);
    Ok(bytes)
}
