//! Functions that depend on the operating system, for systems other than Unix.
//!
//! On Windows, files are read and written as on Unix, with four differences. Decoder
//! snapshots of a gzip file are not reused. Ctrl-C does not interrupt the wait for a
//! pipe. A file that replaces another one does not inherit its permissions and owner.
//! Folders are not synced.
//!
//! In a browser, the standard library has no files, and each of these functions returns
//! an error.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// An identity that no file has, so two files are never considered the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) size: u64,
}

impl FileId {
    pub(crate) fn new(_: &Metadata) -> Option<Self> {
        None
    }

    #[expect(clippy::unused_self, reason = "on Unix the fields are compared")]
    pub(crate) fn is_same_file(&self, _: &Self) -> bool {
        false
    }
}

/// Returns true, because on Windows an open file keeps its name until its writer
/// renames it.
pub(crate) fn is_file_at_path(path: &Path, _: &File) -> bool {
    path.exists()
}

pub(crate) fn create_new_file(path: &Path, _: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).open(path)
}

pub(crate) fn open_nofollow(path: &Path) -> io::Result<File> {
    if path.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::options().read(true).write(true).open(path)
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix the function may fail")]
pub(crate) fn copy_permissions(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn sync_folder(_: &Path) {}

pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn open_stdin() -> io::Result<File> {
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        io::stdin().as_handle().try_clone_to_owned().map(File::from)
    }
    #[cfg(not(windows))]
    Err(io::ErrorKind::Unsupported.into())
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix the function may fail")]
pub(crate) fn wait_for_bytes(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn has_bytes(_: &File) -> bool {
    true
}
