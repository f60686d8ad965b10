//! Hostile exported models: whatever a graph says, it is an error or a result.
//!
//! A graph gets the weights that it asks for, as far as they are small, and right hashes, so
//! that what is tried is the graph and not the checks before it.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use safetensors::Dtype as Stored;
use safetensors::tensor::TensorView;
use seqloom_graph::graph::{Dim, NamedValue};
use seqloom_graph::{Numbers, Dtype, Export, Input, Limits, Model};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// So many bytes a model may take: the fuzzer's own limit is above.
const MEMORY: usize = 64 << 20;
/// Elements of an array that is given to a model.
const MOST: usize = 1 << 16;
/// What each size with a name is.
const SIZES: [usize; 2] = [2, 5];

/// Opens a zip, and runs it on small arrays of zeros and ones.
pub fn run(zip: Vec<u8>) {
    let Ok(export) = Export::from_zip(zip) else {
        return;
    };
    let _ = export.facts();
    let inputs = export.graph().inputs().to_vec();
    let limits = Limits {
        memory_bytes: MEMORY,
    };
    let Ok(model) = Model::new(export, limits) else {
        return;
    };
    let arrays: Option<Vec<_>> = inputs.iter().map(Given::of).collect();
    for given in arrays.iter() {
        let inputs: Vec<_> = given.iter().map(Given::lend).collect();
        let _ = model.run(&inputs, 1);
    }
}

/// An array that is given to a model.
struct Given {
    name: String,
    shape: Vec<usize>,
    dtype: Dtype,
    /// Zeros and ones, eight bytes for each element.
    words: Vec<u64>,
}

impl Given {
    fn of(named: &NamedValue) -> Option<Self> {
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Named(name) => SIZES[usize::from(name == "length")],
        };
        let shape: Vec<_> = named.declared.shape.iter().map(size).collect();
        let count = shape
            .iter()
            .try_fold(1, |all: usize, &it| all.checked_mul(it));
        let count = count.filter(|&count| count <= MOST)?;
        Some(Self {
            name: named.name.clone(),
            shape,
            dtype: named.declared.dtype,
            words: vec![0; count],
        })
    }

    fn lend(&self) -> Input<'_> {
        static TRUTHS: [bool; MOST] = [true; MOST];
        static BYTES: [u8; MOST] = [0; MOST];
        let count = self.words.len();
        let data = match self.dtype {
            Dtype::Float32 => Numbers::F32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Float64 => Numbers::F64(bytemuck::cast_slice(&self.words)),
            Dtype::Int32 => Numbers::I32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Int64 => Numbers::I64(bytemuck::cast_slice(&self.words)),
            Dtype::Uint32 => Numbers::U32(&bytemuck::cast_slice(&self.words)[..count]),
            Dtype::Uint8 => Numbers::U8(&BYTES[..count]),
            Dtype::Bool => Numbers::Bool(&TRUTHS[..count]),
        };
        Input {
            name: &self.name,
            shape: &self.shape,
            data,
        }
    }
}

/// Makes an export whose graph these bytes are.
pub fn seal(graph: &[u8]) -> Vec<u8> {
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
    seal_files(manifest, files.into())
}

/// Makes an export of these files, whose hashes are right where the manifest names them.
pub fn seal_files(mut manifest: Value, files: Vec<(&str, Vec<u8>)>) -> Vec<u8> {
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

/// The weights that a graph asks for.
fn weights(graph: &[u8]) -> Vec<u8> {
    let graph: Value = serde_json::from_slice(graph).unwrap_or_default();
    let asked = graph["weights"].as_array().cloned().unwrap_or_default();
    let zeros = vec![0_u8; 8 * MOST];
    let views = asked.iter().filter_map(|weight| {
        let shape: Option<Vec<usize>> = weight["shape"].as_array()?.iter().map(size_of).collect();
        let (shape, dtype) = (shape?, stored(weight["dtype"].as_str()?)?);
        let count = shape
            .iter()
            .try_fold(1, |all: usize, &it| all.checked_mul(it));
        let count = count.filter(|&count| count <= MOST)?;
        let bytes = &zeros[..count * dtype.bitsize() / 8];
        let view = TensorView::new(dtype, shape, bytes).ok()?;
        Some((weight["name"].as_str()?.to_owned(), view))
    });
    // A name that is asked for twice is written once.
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
