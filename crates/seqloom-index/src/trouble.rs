//! Errors about files and indexes.

use std::path::Path;

use seqloom_compression::Trouble;
use seqloom_core::Error;
use seqloom_core::error::Fault;

/// Converts a problem with a file to an error with the path of the file.
pub(crate) fn to_error(path: &Path, trouble: Trouble) -> Error {
    match trouble {
        Trouble::Io(error) => Error::io(path, &error),
        Trouble::Damage(fault) => Error::format(path, fault),
    }
}

/// Returns the error for a damaged index.
pub(crate) fn damaged(what: &str) -> Fault {
    Fault::of_file(format!(
        "the index is truncated or corrupt ({what}): make a new one (seqloom index --overwrite)"
    ))
}
