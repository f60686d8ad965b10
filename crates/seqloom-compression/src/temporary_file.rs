//! Writes a file atomically: its name appears only when the file is complete.
//!
//! The writer locks its temporary file. The next writer of the same target file removes
//! temporary files that are not locked. The Python module `seqloom._files` uses the same
//! names and rules for temporary files.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use seqloom_core::process::process_id;

use crate::system::{
    copy_permissions, create_new_file, is_file_at_path, open_nofollow, sync_folder,
};

/// Number of temporary file names that are searched for files of killed writers.
const MAX_CHECKED_NAMES: usize = 8;

/// A temporary file that replaces its target file on `commit`. If the object is dropped
/// before `commit`, the temporary file is removed.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    path: PathBuf,
    /// The process that created the file. A forked process must not remove it.
    process: u32,
}

impl TemporaryFile {
    /// Creates and locks a temporary file in the folder of `target`. Removes temporary
    /// files of killed writers.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let part = |number| target.with_file_name(format!(".{name}.seqloom{number}.part"));
        (0..MAX_CHECKED_NAMES)
            .map(part)
            .for_each(|path| remove_if_abandoned(&path));
        // The new file gets the permissions of the target file only at the end; until
        // then, only its owner can read it.
        let is_private = target.exists();
        let mut parts = (0_usize..).map(part);
        let first = parts.find_map(|path| create_named_file(path, is_private).transpose());
        first.unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
    }

    /// Returns the file to write to.
    ///
    /// # Errors
    ///
    /// The process has no more file handles.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Syncs the file to the disk and renames it to `target`.
    ///
    /// # Errors
    ///
    /// The disk is full, or the target cannot be replaced. If `commit` fails, the
    /// target remains unchanged.
    pub fn commit(mut self, target: &Path) -> io::Result<()> {
        copy_permissions(&self.file, target)?;
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        self.path.clear(); // another writer may already use the old name
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new(".")));
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.process == process_id() && is_file_at_path(&self.path, &self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a temporary file with this name, or returns `None` if another writer uses
/// the name.
fn create_named_file(path: PathBuf, is_private: bool) -> io::Result<Option<TemporaryFile>> {
    let file = match create_new_file(&path, is_private) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        created => created?,
    };
    // If the file system does not support locks, no other writer can lock or remove the
    // file.
    let _ = file.lock();
    // Another writer may have removed the file before it was locked.
    Ok(is_file_at_path(&path, &file).then(|| TemporaryFile {
        file,
        path,
        process: process_id(),
    }))
}

/// Removes a temporary file that is not locked because its writer was killed.
fn remove_if_abandoned(path: &Path) {
    // Another user may have created a link, pipe or device with this name, which must
    // not be opened.
    let Some(file) = open_nofollow(path).ok().filter(is_regular_file) else {
        return;
    };
    let is_free = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    };
    if is_free && is_file_at_path(path, &file) {
        let _ = fs::remove_file(path);
    }
}

fn is_regular_file(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_empty_folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("seqloom-part-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn file_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_next_writer_removes_files_of_killed_writers() {
        let folder = create_empty_folder("dead");
        fs::write(folder.join(".x.sli.seqloom0.part"), "half").unwrap();
        fs::write(folder.join(".x.sli.seqloom3.part"), "half").unwrap();
        TemporaryFile::create(&folder.join("x.sli"))
            .unwrap()
            .commit(&folder.join("x.sli"))
            .unwrap();
        assert_eq!(file_names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_a_temporary_file_is_not_followed() {
        let folder = create_empty_folder("link");
        let (other, link) = (folder.join("other"), folder.join(".x.sli.seqloom0.part"));
        fs::write(&other, "of another").unwrap();
        let locked = File::open(&other).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        remove_if_abandoned(&link);
        assert!(locked.try_lock().is_ok() && link.is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_temporary_file_of_an_active_writer_is_not_removed() {
        let folder = create_empty_folder("alive");
        let target = folder.join("x.sli");
        let (one, other) = (
            TemporaryFile::create(&target).unwrap(),
            TemporaryFile::create(&target).unwrap(),
        );
        assert_eq!(file_names(&folder).len(), 2);
        one.commit(&target).unwrap();
        drop(other);
        assert_eq!(file_names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
