//! Reads and writes at a file offset, with the functions of the operating system. Other
//! code that depends on the operating system is in `seqloom_compression::system`.

use std::{fs::File, io};

/// Reads at an offset without moving the file position; returns the number of bytes.
///
/// # Errors
///
/// Returns the error of the operating system, or [`io::ErrorKind::Unsupported`] in a
/// browser.
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

/// Writes at an offset without moving the file position; returns the number of bytes.
///
/// # Errors
///
/// Returns the error of the operating system, or [`io::ErrorKind::Unsupported`] in a
/// browser.
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
