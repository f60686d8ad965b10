//! A file that has its name only once it is whole.
//!
//! A lock on its part says that the writer is alive: the next writer of the same file
//! removes a part that nobody has locked. Python's `seqloom._files` does the same, under
//! the same names.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::system::{create_new, is_at, keep_rights, open_itself, sync_folder};

/// The number of names that are checked for files of killed writers.
const DEAD_PARTS: usize = 8;

/// A temporary file that replaces its target on `commit`, and is removed if dropped before.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    path: PathBuf,
}

impl PartFile {
    /// Creates and locks a temporary file in the folder of `target`. Removes those of writers
    /// that were killed.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let part = |number| target.with_file_name(format!(".{name}.seqloom{number}.part"));
        (0..DEAD_PARTS)
            .map(part)
            .for_each(|path| remove_dead(&path));
        // What replaces a private file is private from its first byte on.
        let is_private = target.exists();
        let mut parts = (0_usize..).map(part);
        let first = parts.find_map(|path| create_at(path, is_private).transpose());
        first.unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
    }

    /// Returns the file to write to.
    ///
    /// # Errors
    ///
    /// The process has no more handles.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Syncs the file to the disk and renames it to `target`.
    ///
    /// # Errors
    ///
    /// The disk is full, or the target cannot be replaced: it stays as it was.
    pub fn commit(mut self, target: &Path) -> io::Result<()> {
        keep_rights(&self.file, target)?;
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        self.path.clear(); // its old name may be another writer's by now
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new(".")));
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if is_at(&self.path, &self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a temporary file with this name; `None` if the name is another writer's.
fn create_at(path: PathBuf, is_private: bool) -> io::Result<Option<PartFile>> {
    let file = match create_new(&path, is_private) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        created => created?,
    };
    // Where a file system has no locks, nobody can take the part for a dead writer's.
    let _ = file.lock();
    // Before it was locked it may have been taken for one.
    Ok(is_at(&path, &file).then_some(PartFile { file, path }))
}

/// Removes a part that nobody has locked: its writer was killed.
fn remove_dead(path: &Path) {
    // Another user may have put a link, a pipe or a device there: it is not opened.
    let Some(file) = open_itself(path).ok().filter(is_file) else {
        return;
    };
    let is_free = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    };
    if is_free && is_at(path, &file) {
        let _ = fs::remove_file(path);
    }
}

fn is_file(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("seqloom-part-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_writer_left_goes_with_the_next() {
        let folder = folder("dead");
        fs::write(folder.join(".x.sli.seqloom0.part"), "half").unwrap();
        fs::write(folder.join(".x.sli.seqloom3.part"), "half").unwrap();
        PartFile::create(&folder.join("x.sli"))
            .unwrap()
            .commit(&folder.join("x.sli"))
            .unwrap();
        assert_eq!(names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_under_the_name_of_a_part_is_not_followed() {
        let folder = folder("link");
        let (other, link) = (folder.join("other"), folder.join(".x.sli.seqloom0.part"));
        fs::write(&other, "of another").unwrap();
        let locked = File::open(&other).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        remove_dead(&link);
        assert!(locked.try_lock().is_ok() && link.is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_part_of_a_living_writer_stays() {
        let folder = folder("alive");
        let target = folder.join("x.sli");
        let (one, other) = (
            PartFile::create(&target).unwrap(),
            PartFile::create(&target).unwrap(),
        );
        assert_eq!(names(&folder).len(), 2);
        one.commit(&target).unwrap();
        drop(other);
        assert_eq!(names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
