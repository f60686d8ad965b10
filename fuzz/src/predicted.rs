//! Scores files with changed exported models that have valid hashes, and checks that the
//! result is an error or scores for each record.

use std::path::{Path, PathBuf};

use seqloom_graph::{Export, Limits};
use seqloom_run::{Encoder, PredictOptions, Predictor};
use serde_json::{Value, json};

use crate::choices::Choices;
use crate::documents::change;
use crate::exported::export_of_files;
use crate::records::{Packing, Records};
use crate::scratch;

/// Memory limit of a model in bytes.
const PREDICTOR_MEMORY_BYTES: usize = 64 << 20;

/// Changes a model as the fuzzer chooses, and scores a file with the changed model.
pub fn run(mut choices: Choices<'_>) {
    let mut encoder = encoder_settings(choices.byte());
    let mut manifest: Value = read("export.json");
    for _ in 0..choices.below(3) {
        change(&mut encoder, &mut choices);
    }
    for _ in 0..choices.below(3) {
        change(&mut manifest, &mut choices);
    }
    let _ = Encoder::new("encoder.json".as_ref(), &encoder);
    let files = [
        ("graph.json", stored_file("graph.json")),
        ("graph-unpadded.json", stored_file("graph-unpadded.json")),
        ("model.safetensors", stored_file("model.safetensors")),
        ("encoder.json", encoder.to_string().into_bytes()),
    ];
    let Ok(export) = Export::from_zip(export_of_files(manifest, files.into())) else {
        return;
    };
    let limits = Limits {
        memory_bytes: PREDICTOR_MEMORY_BYTES,
    };
    if let Ok(model) = Predictor::new(export, limits, 1) {
        predict(&model, &mut choices);
    }
}

fn predict(model: &Predictor, choices: &mut Choices<'_>) {
    let records = Records::new(choices);
    let packing = Packing::new(choices);
    let path = scratch::write("predicted", &records.file(packing));
    let options = PredictOptions {
        window: 1 + choices.below(2000),
        interleaved: choices.one_in(4),
        ..PredictOptions::default()
    };
    let (mut rows, pairs) = (0, model.manifest().pair.is_some());
    let outcome = model.predict(&[path], &options, |_, scores| {
        rows += scores.rows().count();
        Ok(())
    });
    if outcome.is_ok() {
        let wanted = if pairs {
            records.all.len() / 2
        } else {
            records.all.len()
        };
        assert_eq!(rows, wanted, "rows of scores");
    }
}

/// Returns the settings of an encoder of each kind.
fn encoder_settings(style: u8) -> Value {
    let letters = json!({"alphabet": "dna", "codes": true, "case": "fold",
        "rna_as_dna": false, "rare": "error", "symbols": "strip_terminal_stop"});
    let words = json!({"letters": letters, "k": 2, "stride": 1, "canonical": false,
        "dtype": "float32", "first": 4, "specials": [1, 3, 0, 2]});
    let values: Vec<u8> = (0..=u8::MAX).collect();
    let mut kernel = match style % 6 {
        0..=2 => return read("encoder.json"),
        3 => json!({"kind": "lookup", "letters": letters, "dtype": "int32",
            "values": values, "specials": [1, 3]}),
        4 => json!({"kind": "quality", "letters": {"first": 33, "last": 126,
            "expected": "a quality"}, "dtype": "float32", "values": values, "specials": [0, 0]}),
        _ => words,
    };
    if kernel["kind"].is_null() {
        kernel["kind"] = json!(if style & 128 > 0 {
            "kmers"
        } else {
            "kmer_counts"
        });
    }
    json!({ "kernel": kernel })
}

fn read(name: &str) -> Value {
    serde_json::from_slice(&stored_file(name)).expect("the model is valid")
}

/// Reads a file of a stored exported model.
fn stored_file(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/export/data/version_1_cnn"
    );
    let path: PathBuf = Path::new(folder).join(name);
    std::fs::read(path).expect("the model exists")
}
