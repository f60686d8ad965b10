//! Test helpers that write the files of an export.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Export;
use crate::manifest::sha256_hex;

/// The files of an export; a test may change them.
#[derive(Clone)]
pub(crate) struct ExportFixture {
    pub(crate) manifest: Value,
    pub(crate) contents: BTreeMap<String, Vec<u8>>,
    pub(crate) method: CompressionMethod,
}

impl ExportFixture {
    /// Returns a model that doubles its inputs and adds a weight.
    pub(crate) fn doubling_model() -> Self {
        let graph = json!({
            "version": 1,
            "inputs": [{"name": "inputs", "value": 0, "dtype": "float32", "shape": ["batch", 3]}],
            "weights": [{"name": "bias", "value": 1, "dtype": "float32", "shape": [3]}],
            "operations": [
                {"name": "multiply", "args": [{"value": 0}, 2.0], "options": {}, "line": "model.py:3",
                 "outputs": [{"value": 2, "dtype": "float32", "shape": ["batch", 3]}]},
                {"name": "add", "args": [{"value": 2}, {"value": 1}], "options": {}, "line": "model.py:4",
                 "outputs": [{"value": 3, "dtype": "float32", "shape": ["batch", 3]}]}
            ],
            "outputs": [{"name": "outputs", "value": 3}]
        });
        Self::new(&graph, &[("bias", &[3], &[1.0, 2.0, 3.0])])
    }

    /// Creates a model with this graph and these weights.
    pub(crate) fn new(graph: &Value, weights: &[(&str, &[usize], &[f32])]) -> Self {
        let views = weights.iter().map(|(name, shape, numbers)| {
            let bytes = bytemuck::cast_slice(numbers);
            let view = TensorView::new(safetensors::Dtype::F32, shape.to_vec(), bytes);
            (*name, view.unwrap())
        });
        let weights = safetensors::serialize(views, None).unwrap();
        let files = [
            ("graph.json".to_owned(), graph.to_string().into_bytes()),
            ("model.safetensors".to_owned(), weights),
        ];
        let manifest = json!({
            "checksum": "", "format": "seqloom-export", "version": 1, "written_by": "a test",
            "task": {"name": "custom", "columns": []}, "batch_size": 2, "layout": "padded",
            "length": 3, "crop": null, "pair": null, "pool": null, "files": {}
        });
        Self {
            manifest,
            contents: files.into_iter().collect(),
            method: CompressionMethod::Stored,
        }
    }

    /// Returns the zip of the export, with all hashes.
    pub(crate) fn zip(&self) -> Vec<u8> {
        self.zip_with(&self.manifest_with_hashes())
    }

    /// Returns `export.json` with all hashes.
    pub(crate) fn manifest_with_hashes(&self) -> Value {
        let mut manifest = self.manifest.clone();
        for (name, bytes) in &self.contents {
            manifest["files"][name] = Value::String(sha256_hex(bytes));
        }
        manifest["checksum"] = Value::String("0".repeat(64));
        let sum = sha256_hex(manifest.to_string().as_bytes());
        manifest["checksum"] = Value::String(sum);
        manifest
    }

    /// Returns the zip with a given `export.json`.
    pub(crate) fn zip_with(&self, manifest: &Value) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(self.method);
        let manifest = ("export.json".to_owned(), manifest.to_string().into_bytes());
        for (name, bytes) in self.contents.clone().into_iter().chain([manifest]) {
            zip.start_file(name, options).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// Opens the zip, or returns the error message.
    pub(crate) fn open(&self) -> Result<Export, String> {
        Export::from_zip(self.zip()).map_err(|error| error.to_string())
    }

    /// Applies a change to `graph.json`.
    pub(crate) fn edit_graph(&mut self, change: impl FnOnce(&mut Value)) {
        let mut graph: Value = serde_json::from_slice(&self.contents["graph.json"]).unwrap();
        change(&mut graph);
        self.contents
            .insert("graph.json".to_owned(), graph.to_string().into_bytes());
    }
}
