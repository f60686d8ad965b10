//! Replacements for a build without genotype support. The replacements reject models of
//! genotypes.

use std::path::Path;

use seqloom_core::{Error, Result};
use seqloom_graph::safetensors::SafeTensors;
use serde_json::Value;

use crate::feed::{Feed, FeedBatch, FeedEvent};
use crate::json::JsonObject;

/// The encoder of genotypes, which this build does not contain.
#[derive(Debug)]
pub(crate) enum GenotypeEncoder {}

/// The source of genotype batches, which this build does not contain.
pub(crate) enum GenotypeFeed {}

impl GenotypeEncoder {
    /// Returns an error for a model of genotypes, and `None` for a model of sequences.
    pub(crate) fn read(file: &Value, _: Option<&SafeTensors<'_>>) -> Result<Option<Self>> {
        let kernel = JsonObject::new("encoder.json".as_ref(), file).object("kernel")?;
        if kernel.text("kind")? != "genotypes" {
            return Ok(None);
        }
        Err(Error::argument(
            "the model reads genotypes, but this program cannot: use the command seqloom-run",
        ))
    }
}

impl GenotypeFeed {
    pub(crate) fn open(
        _: &Path,
        learned: &GenotypeEncoder,
        _: usize,
        _: usize,
        _: usize,
    ) -> Result<Self> {
        match *learned {}
    }
}

impl Feed for GenotypeFeed {
    fn next(&mut self, _: FeedBatch) -> Result<Option<FeedEvent>> {
        match *self {}
    }
}
