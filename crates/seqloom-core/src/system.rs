//! Reading and writing at a position of a file: the one call of the crates whose name depends on
//! the operating system. `seqloom_compression` has all else that does, in a module of this name.

use std::fs::File;
use std::io;

/// Reads at a position, without moving any other reader of the file; returns how many bytes.
///
/// # Errors
///
/// Those of the system; [`io::ErrorKind::Unsupported`] in a browser, which has no files.
pub fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, out, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, out, at);
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (file, at, out);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Writes at a position, without moving any other writer of the file; returns how many bytes.
///
/// # Errors
///
/// Those of the system; [`io::ErrorKind::Unsupported`] in a browser, which has no files.
pub fn write_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_at(file, bytes, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_write(file, bytes, at);
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (file, at, bytes);
        Err(io::ErrorKind::Unsupported.into())
    }
}
