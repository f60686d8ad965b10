//! What differs between operating systems, as Unix has it: which file a file is, pipes, and the
//! part of a file. `system/elsewhere.rs` is the same for Windows and for browsers, and says what
//! is missing there.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use seqloom_core::interrupt::check_signals;

/// Which file it is, as it was when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// When its content was written, and when anything of it was changed.
    times: [i64; 4],
}

impl Identity {
    /// Returns the identity of a file; `None` if the system does not provide it.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
    pub(crate) fn of(facts: &Metadata) -> Option<Self> {
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

    /// Whether both are of one file, perhaps written in between.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Whether a name is still that of an open file.
pub(crate) fn is_at(path: &Path, file: &File) -> bool {
    let pair = fs::symlink_metadata(path).ok().zip(file.metadata().ok());
    pair.is_some_and(|(one, other)| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Makes a file that does not exist yet; a private one is its owner's from its first byte on.
pub(crate) fn create_new(path: &Path, is_private: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options
        .mode(if is_private { 0o600 } else { 0o666 })
        .open(path)
}

/// Opens a file for writing, but neither through a link nor a pipe that waits for a reader.
pub(crate) fn open_itself(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

/// Gives a file the permissions of the one that it replaces, and its owner if it can.
pub(crate) fn keep_rights(file: &File, target: &Path) -> io::Result<()> {
    let Ok(old) = fs::metadata(target) else {
        return Ok(());
    };
    let mut mode = old.mode() & 0o7777;
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
        // Another group would get the old group's rights: it gets those of all others.
        if file.metadata()?.gid() != old.gid() {
            mode = mode & 0o7707 | (mode & 0o007) << 3;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Waits until the disk has the names of a folder.
pub(crate) fn sync_folder(folder: &Path) {
    // A folder that cannot be synced (some network drives) has the file all the same.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// The longest wait between two checks for signals: a signal that comes just before a wait
/// does not end it.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Opens a file; a named pipe as soon as a program writes into it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    loop {
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::INTR) => check_signals()?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The standard input, as a file of its own.
pub(crate) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Waits until a pipe can be read, or has ended; Ctrl-C ends the wait.
pub(crate) fn wait_for_bytes(file: &File) -> io::Result<()> {
    loop {
        match poll_bytes(file, &POLL_INTERVAL) {
            Ok(0) | Err(Errno::INTR) => check_signals()?,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a pipe can be read, or has ended.
pub(crate) fn has_bytes(file: &File) -> bool {
    matches!(poll_bytes(file, &Timespec::default()), Ok(1..))
}

fn poll_bytes(file: &File, time: &Timespec) -> Result<usize, Errno> {
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(time))
}
