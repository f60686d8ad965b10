//! Files where the system is no Unix: reading one waits, and there are no pipes.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn standard_input() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
pub(crate) fn wait_for_bytes(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn has_bytes(_: &File) -> bool {
    true
}
