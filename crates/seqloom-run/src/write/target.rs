//! A file that is whole or absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use seqloom_core::{Error, Result};

/// A file under another name, which gets its own at the end; without one it goes.
#[derive(Debug)]
pub(super) struct Target {
    file: Option<File>,
    part: PathBuf,
    path: PathBuf,
}

/// So many names are tried.
const TRIES: u32 = 1000;

impl Target {
    /// Begins a file beside the one that it will be.
    pub(super) fn create(path: &Path) -> Result<Self> {
        // A symbolic link stays, and the file that it names is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (file, part) = Self::begin(&path, "").map_err(|error| Error::io(&path, &error))?;
        Ok(Self {
            file: Some(file),
            part,
            path,
        })
    }

    /// Another file beside it, for what is needed until the end; it goes with its name.
    pub(super) fn scratch(&self) -> io::Result<File> {
        let (file, path) = Self::begin(&self.path, "-ids")?;
        fs::remove_file(path)?;
        Ok(file)
    }

    fn begin(path: &Path, what: &str) -> io::Result<(File, PathBuf)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let process = std::process::id();
        for number in 0..TRIES {
            let part = path.with_file_name(format!(".{name}{what}.{process}-{number}.part"));
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&part);
            match opened {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| (file, part)),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Goes back to a byte.
    pub(super) fn seek(&mut self, byte: u64) -> io::Result<()> {
        self.file()?.seek(io::SeekFrom::Start(byte)).map(drop)
    }

    /// Gives the file its name, once the disk has it.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let file = self.file.take();
        let file = file.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        if let Ok(facts) = fs::metadata(&self.path) {
            file.set_permissions(facts.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&self.part, &self.path)?;
        self.part.clear();
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.part.as_os_str().is_empty() {
            // What cannot be removed was not kept either.
            let _ = fs::remove_file(&self.part);
        }
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
    fn a_file_that_is_not_finished_leaves_the_old_one() {
        let folder = folder("old");
        let path = folder.join("a.tsv");
        fs::write(&path, "old").unwrap();
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"new").unwrap();
        drop(target);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&folder), ["a.tsv"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_finished_file_replaces_the_old_one() {
        let folder = folder("new");
        let path = folder.join("a.tsv");
        fs::write(&path, "old").unwrap();
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"new").unwrap();
        target.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder), ["a.tsv"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
