//! A file that has its name only once it is whole.
//!
//! A lock on its part says that the writer is alive: the next writer of the same file
//! removes a part that nobody has locked. Python's `seqloom._files` does the same, under
//! the same names.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// So many names are looked at for what killed writers left.
const LOOKED_AT: usize = 8;

/// The part of a file that is being written; dropped before `commit`, it goes.
#[derive(Debug)]
pub struct Part {
    file: File,
    path: PathBuf,
}

impl Part {
    /// Makes and locks a part beside `target`, and removes those whose writers are dead.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let part = |number| target.with_file_name(format!(".{name}.seqloom{number}.part"));
        (0..LOOKED_AT).map(part).for_each(|path| remove_dead(&path));
        // What replaces a private file is private from its first byte on.
        let mode = if target.exists() { 0o600 } else { 0o666 };
        let mut made = (0_usize..).map(part).map(|path| make(path, mode));
        let first = made.find_map(Result::transpose);
        first.unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
    }

    /// What is written to.
    ///
    /// # Errors
    ///
    /// The process has no more handles.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the file its name, once the disk has all of it.
    ///
    /// # Errors
    ///
    /// The disk is full, or the target cannot be replaced: it stays as it was.
    pub fn commit(self, target: &Path) -> io::Result<()> {
        self.keep_rights(target)?;
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        // A folder that cannot be synced (some network drives) has the file all the same.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Gives the part the permissions of the file that it replaces, and its owner if it can.
    fn keep_rights(&self, target: &Path) -> io::Result<()> {
        let Ok(old) = fs::metadata(target) else {
            return Ok(());
        };
        let mut mode = old.mode() & 0o7777;
        if fchown(&self.file, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(&self.file, None, Some(old.gid()));
            // Another group would get the old group's rights: it gets those of all others.
            if self.file.metadata()?.gid() != old.gid() {
                mode = mode & 0o7707 | (mode & 0o007) << 3;
            }
        }
        self.file.set_permissions(Permissions::from_mode(mode))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After a commit its name is free, and may be another writer's by now.
        if is_at(&self.path, &self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A part of this name; nothing where the name is another writer's.
fn make(path: PathBuf, mode: u32) -> io::Result<Option<Part>> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(mode);
    let file = match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        made => made?,
    };
    // Where a file system has no locks, nobody can take the part for a dead writer's.
    let _ = file.lock();
    // Before it was locked it may have been taken for one.
    Ok(is_at(&path, &file).then_some(Part { file, path }))
}

/// Removes a part that nobody has locked: its writer was killed.
fn remove_dead(path: &Path) {
    // Another user may have put a link, a pipe or a device there: it is not opened.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = File::options();
    options.read(true).write(true).custom_flags(flags);
    let Some(file) = options.open(path).ok().filter(is_file) else {
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

/// Whether a name is still that of an open file.
fn is_at(path: &Path, file: &File) -> bool {
    let pair = fs::symlink_metadata(path).ok().zip(file.metadata().ok());
    pair.is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
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
        Part::create(&folder.join("x.sli"))
            .unwrap()
            .commit(&folder.join("x.sli"))
            .unwrap();
        assert_eq!(names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }

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
            Part::create(&target).unwrap(),
            Part::create(&target).unwrap(),
        );
        assert_eq!(names(&folder).len(), 2);
        one.commit(&target).unwrap();
        drop(other);
        assert_eq!(names(&folder), ["x.sli"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
