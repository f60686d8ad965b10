//! An exported model that has been opened and checked.

use std::path::Path;

use safetensors::SafeTensors;
use seqloom_core::Result;
use serde_json::{Value, json};

use crate::graph::{Dim, Graph, NamedValue};
use crate::source::ExportFiles;
use crate::tensors::Tensors;
use crate::{Limits, Manifest};

/// An exported model: the contents of a folder or zip, with every hash checked.
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
    /// Opens an exported model: a folder, or a zip without compression.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing, unlisted, invalid, of a newer version, or
    /// does not match its hash.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with_limits(path, Limits::default())
    }

    /// Does the same as [`open`](Self::open), and rejects files that are larger than
    /// `limits` allow.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`open`](Self::open), and if a file is too
    /// large.
    pub fn open_with_limits(path: &Path, limits: Limits) -> Result<Self> {
        Self::read_files(&ExportFiles::open(path, limits)?)
    }

    /// Opens a zip without compression from its bytes.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`open`](Self::open).
    pub fn from_zip(zip: Vec<u8>) -> Result<Self> {
        Self::read_files(&ExportFiles::from_zip(zip)?)
    }

    fn read_files(source: &ExportFiles) -> Result<Self> {
        let manifest = Manifest::read(source)?;
        let weights = manifest.read_required(source, WEIGHTS_FILE)?;
        let weights = Tensors::new(weights).map_err(|error| source.error(WEIGHTS_FILE, error))?;
        let read = |text: &[u8], name: &str| {
            Graph::parse(text, &weights).map_err(|error| source.error(name, error))
        };
        let graph = read(&manifest.read_required(source, GRAPH_FILE)?, GRAPH_FILE)?;
        let unpadded = manifest.read_file(source, UNPADDED_GRAPH_FILE)?;
        let unpadded = unpadded
            .map(|text| read(&text, UNPADDED_GRAPH_FILE))
            .transpose()?;
        let encoder = manifest.read_file(source, ENCODER_FILE)?;
        let encoder = encoder
            .map(|text| serde_json::from_slice(&text))
            .transpose();
        let arrays = manifest.read_file(source, ENCODER_ARRAYS_FILE)?;
        let arrays = arrays.map(Tensors::new).transpose();
        Ok(Self {
            manifest,
            graph,
            unpadded,
            weights,
            encoder: encoder.map_err(|error| source.error(ENCODER_FILE, error.to_string()))?,
            encoder_arrays: arrays.map_err(|error| source.error(ENCODER_ARRAYS_FILE, error))?,
        })
    }

    /// Returns the manifest, which describes the records, the network and the task.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the graph for batches without padding, or `None` if the main graph is
    /// used for such batches as well.
    pub fn unpadded_graph(&self) -> Option<&Graph> {
        self.unpadded.as_ref()
    }

    /// Returns a summary: the main entries of the manifest, the types and shapes of
    /// inputs and outputs, and the sizes of the model.
    pub fn summary(&self) -> Value {
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

    /// Returns the content of `encoder.json`, or `None` if the model reads arrays.
    pub fn encoder(&self) -> Option<&Value> {
        self.encoder.as_ref()
    }

    /// Returns the fitted arrays of the encoder, or `None` if the encoder has no fitted
    /// arrays.
    pub fn encoder_arrays(&self) -> Option<SafeTensors<'_>> {
        self.encoder_arrays.as_ref().and_then(Tensors::view)
    }

    /// Returns the size of the weights in bytes.
    pub fn weight_bytes(&self) -> usize {
        self.weights.bytes()
    }

    /// Returns the graphs, starting with the general one, and their shared weights.
    pub(crate) fn into_parts(self) -> (Vec<Graph>, Tensors) {
        let graphs = [Some(self.graph), self.unpadded];
        (graphs.into_iter().flatten().collect(), self.weights)
    }
}

const GRAPH_FILE: &str = "graph.json";
const UNPADDED_GRAPH_FILE: &str = "graph-unpadded.json";
const WEIGHTS_FILE: &str = "model.safetensors";
const ENCODER_FILE: &str = "encoder.json";
const ENCODER_ARRAYS_FILE: &str = "encoder.safetensors";
