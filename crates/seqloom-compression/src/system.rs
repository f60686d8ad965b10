//! Functions that depend on the operating system, for Unix: file identity, pipes and
//! temporary files. `system/elsewhere.rs` has the same functions for Windows and
//! browsers.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use seqloom_core::interrupt::check_signals;

/// The identity of a file when it was opened: device, inode, size and times of change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// The times at which the content and the metadata of the file last changed.
    times: [i64; 4],
}

impl FileId {
    /// Returns the identity of a file, or `None` if the system does not provide it.
    #[expect(clippy::unnecessary_wraps, reason = "None on other systems")]
    pub(crate) fn new(facts: &Metadata) -> Option<Self> {
        Some(Self {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.size(),
            times: [
                facts.mtime(),
                facts.mtime_nsec(),
                facts.ctime(),
                facts.ctime_nsec(),
            ],
        })
    }

    /// Returns true if both identities belong to the same file, even if its content has
    /// changed.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Returns true if the path still refers to this open file.
pub(crate) fn is_file_at_path(path: &Path, file: &File) -> bool {
    let pair = fs::symlink_metadata(path).ok().zip(file.metadata().ok());
    pair.is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Creates a new file. If `is_private` is true, only the owner can read the file.
pub(crate) fn create_new_file(path: &Path, is_private: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options
        .mode(if is_private { 0o600 } else { 0o666 })
        .open(path)
}

/// Opens a file for writing. Does not follow links, and does not wait for the reader of
/// a pipe.
pub(crate) fn open_nofollow(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

/// Copies the permissions and, if possible, the owner from the target file to the file
/// that will replace it.
pub(crate) fn copy_permissions(file: &File, target: &Path) -> io::Result<()> {
    let Ok(old) = fs::metadata(target) else {
        return Ok(());
    };
    let mut mode = old.mode() & 0o7777;
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
        // If the group cannot be set, the group of the new file gets only the
        // permissions that all users have.
        if file.metadata()?.gid() != old.gid() {
            mode = mode & 0o7707 | (mode & 0o007) << 3;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Waits until the entries of a folder are written to the disk.
pub(crate) fn sync_folder(folder: &Path) {
    // If a folder cannot be synced (on some network drives), the file still exists.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Maximal time between two checks for signals. A signal that arrives before a wait
/// begins does not interrupt the wait.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Opens a file. If the file is a named pipe, waits until a program writes to the pipe.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    loop {
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::INTR) => check_signals()?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the standard input as an open file that can be closed without closing the
/// standard input.
pub(crate) fn open_stdin() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Waits until a pipe can be read or has ended. Ctrl-C ends the wait.
pub(crate) fn wait_for_bytes(file: &File) -> io::Result<()> {
    loop {
        match poll_file(file, &POLL_INTERVAL) {
            Ok(0) | Err(Errno::INTR) => check_signals()?,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns true if a pipe can be read or has ended.
pub(crate) fn has_bytes(file: &File) -> bool {
    matches!(poll_file(file, &Timespec::default()), Ok(1..))
}

fn poll_file(file: &File, time: &Timespec) -> Result<usize, Errno> {
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(time))
}
