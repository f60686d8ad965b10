//! A machine on which no files are written.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The part of a file; there is none here.
#[derive(Debug)]
pub struct Part;

impl Part {
    /// Makes no part.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn create(_: &Path) -> io::Result<Self> {
        Err(ErrorKind::Unsupported.into())
    }

    /// What is written to.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn file(&self) -> io::Result<File> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn commit(self, _: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
