//! Where the program is built without genotypes: models of them are refused.

use std::path::Path;

use seqloom_core::{Error, Result};
use seqloom_graph::safetensors::SafeTensors;
use serde_json::Value;

use crate::feed::{Batch, Feed, Piece};
use crate::json::Object;

/// What nobody has here.
#[derive(Debug)]
pub(crate) enum Learned {}

/// What nobody can open here.
pub(crate) enum Genotypes {}

impl Learned {
    /// Refuses a model of genotypes; a model of sequences is none.
    pub(crate) fn read(file: &Value, _: Option<&SafeTensors<'_>>) -> Result<Option<Self>> {
        let kernel = Object::new("encoder.json".as_ref(), file).object("kernel")?;
        if kernel.text("kind")? != "genotypes" {
            return Ok(None);
        }
        Err(Error::argument(
            "the model reads genotypes, which this program does not: use the command seqloom-run",
        ))
    }
}

impl Genotypes {
    pub(crate) fn open(_: &Path, learned: &Learned, _: (usize, usize, usize)) -> Result<Self> {
        match *learned {}
    }
}

impl Feed for Genotypes {
    fn next(&mut self, _: Batch) -> Result<Option<Piece>> {
        match *self {}
    }
}
