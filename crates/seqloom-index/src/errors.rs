//! Errors about files and indexes.

use std::path::Path;

use seqloom_compression::ReadError;
use seqloom_core::{Error, error::Fault};

/// Converts a problem with a file to an error with the path of the file.
pub(crate) fn path_error(path: &Path, error: ReadError) -> Error {
    match error {
        ReadError::Io(error) => Error::io(path, &error),
        ReadError::Damage(fault) => Error::format(path, fault),
    }
}

/// Returns the error for a damaged index.
pub(crate) fn damaged_index(what: &str) -> Fault {
    Fault::of_file(format!(
        "the index is truncated or corrupt ({what}): make a new one (seqloom index --overwrite)"
    ))
}
