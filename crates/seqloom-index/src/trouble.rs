//! Trouble with a file or an index, as errors that say what to do.

use std::path::Path;

use seqloom_compression::Trouble;
use seqloom_core::Error;
use seqloom_core::error::Fault;

/// Trouble with a file, as an error that names it.
pub(crate) fn translate(path: &Path, trouble: Trouble) -> Error {
    match trouble {
        Trouble::Io(error) => Error::io(path, &error),
        Trouble::Damage(fault) => Error::format(path, fault),
    }
}

/// What an index whose bytes changed is.
pub(crate) fn damaged(what: &str) -> Fault {
    Fault::whole(format!(
        "the index is cut or damaged ({what}): make a new one (seqloom index --overwrite)"
    ))
}
