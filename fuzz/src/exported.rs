//! Opens and runs invalid exported models, and checks that every graph returns an error
//! or a result.
//!
//! The harness adds the weights of a graph (up to a size limit) and valid hashes, so
//! that the graph itself is tested.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use safetensors::Dtype as Stored;
use safetensors::tensor::TensorView;
use seqloom_graph::graph::{Dim, NamedValue};
use seqloom_graph::{Dtype, Elements, Export, Input, Limits, Model};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Memory limit of a model in bytes, below the memory limit of the fuzzer.
const MODEL_MEMORY_BYTES: usize = 64 << 20;
/// Maximal number of elements of an input array.
const MAX_ELEMENTS: usize = 1 << 16;
/// The length of each named axis.
const NAMED_SIZES: [usize; 2] = [2, 5];

/// Opens a zip, and runs it on small arrays of zeros and ones.
pub fn run(zip: Vec<u8>) {
    let Ok(export) = Export::from_zip(zip) else {
        return;
    };
    let _ = export.summary();
    let inputs = export.graph().inputs().to_vec();
    let limits = Limits {
        memory_bytes: MODEL_MEMORY_BYTES,
    };
    let Ok(model) = Model::new(export, limits) else {
        return;
    };
    let arrays: Option<Vec<_>> = inputs.iter().map(InputArray::of).collect();
    for arrays in arrays.iter() {
        let inputs: Vec<_> = arrays.iter().map(InputArray::as_input).collect();
        let _ = model.run(&inputs, 1);
    }
}

/// An input array.
struct InputArray {
    name: String,
    shape: Vec<usize>,
    dtype: Dtype,
    /// Zeros and ones with eight bytes for each element.
    words: Vec<u64>,
}

impl InputArray {
    fn of(named: &NamedValue) -> Option<Self> {
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Named(name) => NAMED_SIZES[usize::from(name == "length")],
        };
        let shape: Vec<_> = named.declared.shape.iter().map(size).collect();
        let count = shape
            .iter()
            .try_fold(1, |all: usize, &it| all.checked_mul(it));
        let count = count.filter(|&count| count <= MAX_ELEMENTS)?;
        Some(Self {
            name: named.name.clone(),
            shape,
            dtype: named.declared.dtype,
            words: vec![0; count],
        })
    }

    fn as_input(&self) -> Input<'_> {
        static TRUTHS: [bool; MAX_ELEMENTS] = [true; MAX_ELEMENTS];
        static BYTES: [u8; MAX_ELEMENTS] = [0; MAX_ELEMENTS];
        let count = self.words.len();
        let data = match self.dtype {
            Dtype::Float32 => Elements::F32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Float64 => Elements::F64(bytemuck::cast_slice(&self.words)),
            Dtype::Int32 => Elements::I32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Int64 => Elements::I64(bytemuck::cast_slice(&self.words)),
            Dtype::Uint32 => Elements::U32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Uint8 => Elements::U8(&BYTES[..count]),
            Dtype::Bool => Elements::Bool(&TRUTHS[..count]),
        };
        Input {
            name: &self.name,
            shape: &self.shape,
            data,
        }
    }
}

/// Returns an exported model with these bytes as its graph.
pub fn export_of_graph(graph: &[u8]) -> Vec<u8> {
    let files = [
        ("graph.json", graph.to_vec()),
        ("model.safetensors", weights(graph)),
    ];
    let manifest = json!({
        "format": "seqloom-export", "version": 1,
        "written_by": "the fuzzer", "task": {"name": "custom", "columns": []},
        "batch_size": 2, "layout": "padded", "length": null, "crop": null, "pair": null,
        "pool": null, "files": {}
    });
    export_of_files(manifest, files.into())
}

/// Returns an exported model of these files, with a valid hash for each file in the
/// manifest.
pub fn export_of_files(mut manifest: Value, files: Vec<(&str, Vec<u8>)>) -> Vec<u8> {
    if let Some(fields) = manifest.as_object_mut() {
        if let Some(hashes) = fields.get_mut("files").and_then(Value::as_object_mut) {
            let hash_of =
                |(name, content): &(&str, Vec<u8>)| ((*name).to_owned(), hash(content).into());
            hashes.extend(files.iter().map(hash_of));
        }
        fields.insert("checksum".to_owned(), "0".repeat(64).into());
        let own = hash(Value::from(fields.clone()).to_string().as_bytes());
        fields.insert("checksum".to_owned(), own.into());
    }
    let manifest = ("export.json", manifest.to_string().into_bytes());
    zip(files.into_iter().chain([manifest]))
}

/// Returns the weights of a graph.
fn weights(graph: &[u8]) -> Vec<u8> {
    let graph: Value = serde_json::from_slice(graph).unwrap_or_default();
    let entries = graph["weights"].as_array().cloned().unwrap_or_default();
    let zeros = vec![0_u8; 8 * MAX_ELEMENTS];
    let views = entries.iter().filter_map(|weight| {
        let shape: Option<Vec<usize>> = weight["shape"].as_array()?.iter().map(size_of).collect();
        let (shape, dtype) = (shape?, stored(weight["dtype"].as_str()?)?);
        let count = shape
            .iter()
            .try_fold(1, |all: usize, &it| all.checked_mul(it));
        let count = count.filter(|&count| count <= MAX_ELEMENTS)?;
        let bytes = &zeros[..count * dtype.bitsize() / 8];
        let view = TensorView::new(dtype, shape, bytes).ok()?;
        Some((weight["name"].as_str()?.to_owned(), view))
    });
    // A zip stores a repeated name only once.
    let views: BTreeMap<String, TensorView<'_>> = views.collect();
    safetensors::serialize(views, None).unwrap_or_default()
}

fn size_of(size: &Value) -> Option<usize> {
    usize::try_from(size.as_u64()?).ok()
}

fn stored(dtype: &str) -> Option<Stored> {
    match dtype {
        "float32" => Some(Stored::F32),
        "float64" => Some(Stored::F64),
        "int32" => Some(Stored::I32),
        "int64" => Some(Stored::I64),
        "uint32" => Some(Stored::U32),
        "uint8" => Some(Stored::U8),
        "bool" => Some(Stored::BOOL),
        _ => None,
    }
}

fn hash(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn zip<'a>(files: impl Iterator<Item = (&'a str, Vec<u8>)>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in files {
        let _ = zip.start_file(name, options);
        let _ = zip.write_all(&content);
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}
