//! Temporary files that each input of the fuzzer overwrites.

use std::fs;
use std::path::PathBuf;
use std::process;

/// Writes a file with this name to a folder of this process, and returns its path.
pub fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    fs::write(&path, bytes).expect("the temporary folder is writable");
    path
}

/// Returns the path of a file with this name.
pub fn path(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("seqloom-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder is writable");
    folder.join(name)
}
