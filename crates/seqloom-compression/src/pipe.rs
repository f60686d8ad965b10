//! Pipes: waiting for somebody who writes, without ignoring Ctrl-C.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use seqloom_core::interrupt::ask;

/// A signal that comes just before the waiting begins does not cut it short,
/// hence another look after so long.
const BREATH: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Opens a file; a named pipe as soon as somebody writes into it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    loop {
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::INTR) => ask()?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// The standard input, as a file of its own.
pub(crate) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Waits until a pipe can be read, or has ended.
pub(crate) fn wait_for_bytes(file: &File) -> io::Result<()> {
    loop {
        match look(file, &BREATH) {
            Ok(0) | Err(Errno::INTR) => ask()?,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a pipe can be read, or has ended.
pub(crate) fn has_bytes(file: &File) -> bool {
    matches!(look(file, &Timespec::default()), Ok(1..))
}

fn look(file: &File, time: &Timespec) -> Result<usize, Errno> {
    poll(&mut [PollFd::new(file, PollFlags::IN)], Some(time))
}
