//! A file that each input of the fuzzer writes anew.

use std::fs;
use std::path::PathBuf;
use std::process;

/// Writes a file of this name into a folder of this process, and gives its path.
pub fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    fs::write(&path, bytes).expect("the folder of temporary files takes a file");
    path
}

/// Where a file of this name is written.
pub fn path(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("seqloom-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("the folder of temporary files takes a folder");
    folder.join(name)
}
