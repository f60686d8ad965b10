//! An exported model, opened and checked.

use std::path::Path;

use safetensors::SafeTensors;
use seqloom_core::Result;
use serde_json::Value;

use crate::graph::Graph;
use crate::source::Source;
use crate::tensors::Tensors;
use crate::{Limits, Manifest};

/// An exported model: what the files of a folder or a zip say, every hash compared.
///
/// # Examples
///
/// ```no_run
/// let export = seqloom_graph::Export::open("splice.seqloom".as_ref())?;
/// println!("{:?}", export.manifest().task.columns);
/// # Ok::<(), seqloom_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Export {
    manifest: Manifest,
    graph: Graph,
    weights: Tensors,
    encoder: Option<Value>,
    encoder_arrays: Option<Tensors>,
}

impl Export {
    /// Opens a folder, or a zip without compression.
    ///
    /// # Errors
    ///
    /// A file that is missing, not listed, of another hash or of a newer version, or that does
    /// not say what it should.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, Limits::default())
    }

    /// The same, with files of no more bytes than `limits` allow.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and a file that is too large.
    pub fn open_within(path: &Path, limits: Limits) -> Result<Self> {
        Self::read(&Source::open(path, limits)?)
    }

    /// Opens the bytes of a zip without compression.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_zip(zip: Vec<u8>) -> Result<Self> {
        Self::read(&Source::from_zip(zip)?)
    }

    fn read(source: &Source) -> Result<Self> {
        let manifest = Manifest::read(source)?;
        let weights = manifest.needed(source, WEIGHTS)?;
        let weights = Tensors::new(weights).map_err(|error| source.fault(WEIGHTS, error))?;
        let text = manifest.needed(source, GRAPH)?;
        let graph = Graph::parse(&text, &weights).map_err(|error| source.fault(GRAPH, error))?;
        let encoder = manifest.file(source, ENCODER)?;
        let encoder = encoder
            .map(|text| serde_json::from_slice(&text))
            .transpose();
        let arrays = manifest.file(source, ENCODER_ARRAYS)?;
        let arrays = arrays.map(Tensors::new).transpose();
        Ok(Self {
            manifest,
            graph,
            weights,
            encoder: encoder.map_err(|error| source.fault(ENCODER, error.to_string()))?,
            encoder_arrays: arrays.map_err(|error| source.fault(ENCODER_ARRAYS, error))?,
        })
    }

    /// What records are and become.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The operations.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// `encoder.json`; none of a model of arrays.
    pub fn encoder(&self) -> Option<&Value> {
        self.encoder.as_ref()
    }

    /// What the encoder has learned; none where it has learned nothing.
    pub fn encoder_arrays(&self) -> Option<SafeTensors<'_>> {
        self.encoder_arrays.as_ref().and_then(Tensors::view)
    }

    /// Bytes of the weights.
    pub fn weight_bytes(&self) -> usize {
        self.weights.bytes()
    }

    pub(crate) fn into_parts(self) -> (Graph, Tensors) {
        (self.graph, self.weights)
    }
}

const GRAPH: &str = "graph.json";
const WEIGHTS: &str = "model.safetensors";
const ENCODER: &str = "encoder.json";
const ENCODER_ARRAYS: &str = "encoder.safetensors";
