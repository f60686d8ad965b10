//! An exported model, opened and checked.

use std::path::Path;

use safetensors::SafeTensors;
use seqloom_core::Result;
use serde_json::{Value, json};

use crate::graph::{Dim, Graph, NamedValue};
use crate::source::ExportFiles;
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
    unpadded: Option<Graph>,
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
        Self::read(&ExportFiles::open(path, limits)?)
    }

    /// Opens the bytes of a zip without compression.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_zip(zip: Vec<u8>) -> Result<Self> {
        Self::read(&ExportFiles::from_zip(zip)?)
    }

    fn read(source: &ExportFiles) -> Result<Self> {
        let manifest = Manifest::read(source)?;
        let weights = manifest.needed(source, WEIGHTS)?;
        let weights = Tensors::new(weights).map_err(|error| source.fault(WEIGHTS, error))?;
        let read = |text: &[u8], name: &str| {
            Graph::parse(text, &weights).map_err(|error| source.fault(name, error))
        };
        let graph = read(&manifest.needed(source, GRAPH)?, GRAPH)?;
        let unpadded = manifest.file(source, UNPADDED)?;
        let unpadded = unpadded.map(|text| read(&text, UNPADDED)).transpose()?;
        let encoder = manifest.file(source, ENCODER)?;
        let encoder = encoder
            .map(|text| serde_json::from_slice(&text))
            .transpose();
        let arrays = manifest.file(source, ENCODER_ARRAYS)?;
        let arrays = arrays.map(Tensors::new).transpose();
        Ok(Self {
            manifest,
            graph,
            unpadded,
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

    /// The operations for a batch without padding; none where they are the same.
    pub fn unpadded_graph(&self) -> Option<&Graph> {
        self.unpadded.as_ref()
    }

    /// What the model is: the manifest's main entries, inputs and outputs with their types and
    /// shapes, and the sizes of it.
    pub fn facts(&self) -> Value {
        let shape = |dims: &[Dim]| -> Vec<Value> { dims.iter().map(Dim::to_json).collect() };
        let input = |input: &NamedValue| {
            json!({
                "name": input.name,
                "dtype": input.declared.dtype.name(),
                "shape": shape(&input.declared.shape),
            })
        };
        let output = |name: &str| {
            let declared = self.graph.output(name);
            json!({
                "name": name,
                "dtype": declared.map(|declared| declared.dtype.name()),
                "shape": declared.map(|declared| shape(&declared.shape)),
            })
        };
        json!({
            "written_by": self.manifest.written_by,
            "columns": self.manifest.task.columns,
            "batch_size": self.manifest.batch_size,
            "length": self.manifest.length,
            "inputs": self.graph.inputs.iter().map(input).collect::<Vec<_>>(),
            "outputs": self.graph.outputs().map(output).collect::<Vec<_>>(),
            "operations": self.graph.operations.len(),
            "weight_bytes": self.weights.bytes(),
        })
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

    /// The graphs, the one for any batch first, and the weights of all.
    pub(crate) fn into_parts(self) -> (Vec<Graph>, Tensors) {
        let graphs = [Some(self.graph), self.unpadded];
        (graphs.into_iter().flatten().collect(), self.weights)
    }
}

const GRAPH: &str = "graph.json";
const UNPADDED: &str = "graph-unpadded.json";
const WEIGHTS: &str = "model.safetensors";
const ENCODER: &str = "encoder.json";
const ENCODER_ARRAYS: &str = "encoder.safetensors";
