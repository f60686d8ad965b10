//! An output file that appears only when it is complete.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use seqloom_compression::temporary_file::TemporaryFile;
use seqloom_core::{Error, Result};

/// A file with a temporary name, which is renamed when it is complete. An incomplete
/// file is removed.
#[derive(Debug)]
pub(super) struct TargetFile {
    file: File,
    part: TemporaryFile,
    path: PathBuf,
}

impl TargetFile {
    /// Creates the temporary file in the folder of the final file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        // If the path is a symbolic link, the link remains, and the file to which it
        // points is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let failed = |error| Error::io(&path, &error);
        let part = TemporaryFile::create(&path).map_err(failed)?;
        let file = part.file().map_err(failed)?;
        Ok(Self { file, part, path })
    }

    /// Creates another temporary file without a name, in the same folder.
    pub(super) fn unnamed_file(&self) -> io::Result<File> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push("-scratch");
        TemporaryFile::create(&self.path.with_file_name(name))?.file()
    }

    /// Syncs the file to the disk and renames it to its final name.
    pub(super) fn finish(self) -> io::Result<()> {
        self.part.commit(&self.path)
    }
}

impl Write for TargetFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for TargetFile {
    fn seek(&mut self, position: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("seqloom-target-{name}-{process}"));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|it| name(it).to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn an_unfinished_file_does_not_replace_the_old_one() {
        let folder = folder("old");
        let path = folder.join("a.tsv");
        fs::write(&path, "old").unwrap();
        let mut target = TargetFile::create(&path).unwrap();
        target.write_all(b"new").unwrap();
        drop(target);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&folder), ["a.tsv"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_a_killed_writer_are_removed_by_the_next() {
        let folder = folder("dead");
        let path = folder.join("a.tsv");
        fs::write(folder.join(".a.tsv.seqloom0.part"), "half").unwrap();
        TargetFile::create(&path).unwrap().finish().unwrap();
        assert_eq!(names(&folder), ["a.tsv"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_finished_file_replaces_the_old_one() {
        let folder = folder("new");
        let path = folder.join("a.tsv");
        fs::write(&path, "old").unwrap();
        let mut target = TargetFile::create(&path).unwrap();
        target.write_all(b"new").unwrap();
        target.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder), ["a.tsv"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
