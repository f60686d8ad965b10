//! What differs between operating systems, where the system is no Unix.
//!
//! On Windows, files are read and written as on Unix, with these differences: the positions in a
//! gzip are not remembered from one reader to the next; Ctrl-C does not end the wait for a pipe;
//! permissions and owners stay those of a new file; folders are not synced. In a browser the
//! standard library has no files, and each of these is an error.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// No file is known to be the same as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) size: u64,
}

impl Identity {
    pub(crate) fn of(_: &Metadata) -> Option<Self> {
        None
    }

    #[expect(clippy::unused_self, reason = "on Unix it is compared")]
    pub(crate) fn is_same_file(&self, _: &Self) -> bool {
        false
    }
}

/// A file that is open keeps its name on Windows until its writer renames it.
pub(crate) fn is_at(path: &Path, _: &File) -> bool {
    path.exists()
}

pub(crate) fn create_new(path: &Path, _: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).open(path)
}

pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    if path.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::options().read(true).write(true).open(path)
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
pub(crate) fn keep_rights(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn sync_folder(_: &Path) {}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn standard_input() -> io::Result<File> {
    #[cfg(windows)]
    {
        use std::os::windows::io::AsHandle;
        io::stdin().as_handle().try_clone_to_owned().map(File::from)
    }
    #[cfg(not(windows))]
    Err(io::ErrorKind::Unsupported.into())
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
pub(crate) fn wait_for_bytes(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn has_bytes(_: &File) -> bool {
    true
}
