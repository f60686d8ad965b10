//! What an export must be to be opened.

use std::path::Path;

use serde_json::{Value, json};

use super::Files;
use crate::{BatchLayout, Export, Limits, TaskName};

/// What is said about a graph that a change has made wrong.
fn said(change: impl FnOnce(&mut Value)) -> String {
    let mut files = Files::small();
    files.change(change);
    files.open().unwrap_err()
}

#[test]
fn an_export_says_what_it_is() {
    let export = Files::small().open().unwrap();
    assert_eq!(export.manifest().task.name, TaskName::Custom);
    assert_eq!(export.manifest().layout, BatchLayout::Padded);
    assert_eq!(export.graph().operations()[1].line(), "model.py:4");
    assert!(export.encoder().is_none());
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let mut files = Files::small();
    files.manifest["version"] = json!(3);
    files.manifest["layout"] = json!("unheard of");
    let message = files.open().unwrap_err();
    assert!(message.starts_with("export.json: version 3 of the format is newer than 2"));
}

#[test]
fn a_file_of_another_hash_is_refused() {
    let files = Files::small();
    let archive = files.zip();
    let weights = files.contents["model.safetensors"].clone();
    let at = archive
        .windows(weights.len())
        .position(|part| part == weights);
    let mut archive = archive;
    archive[at.unwrap() + weights.len() - 1] ^= 1;
    assert!(Export::from_zip(archive).is_err());
}

#[test]
fn a_changed_export_json_is_refused() {
    let mut manifest = Files::small().manifest;
    manifest["checksum"] = json!("0".repeat(64));
    let error = Export::from_zip(Files::small().zip_with(&manifest)).unwrap_err();
    assert!(error.to_string().contains("its checksum differs"));
}

#[test]
fn a_file_that_is_not_listed_is_refused() {
    let mut files = Files::small();
    let sealed = files.sealed();
    files.contents.insert("encoder.json".into(), b"{}".to_vec());
    let error = Export::from_zip(files.zip_with(&sealed)).unwrap_err();
    assert!(error.to_string().contains("does not list this file"));
}

#[test]
fn an_operation_that_is_not_known_is_named() {
    assert_eq!(
        said(|graph| graph["operations"][1]["name"] = json!("conjure")),
        "graph.json: operation 1, conjure (model.py:4): this version of seqloom-run does not \
         know the operation; use a newer one, or another operation"
    );
}

#[test]
fn a_cycle_is_a_value_that_is_used_before_it_is_made() {
    let message = said(|graph| graph["operations"][0]["args"][0] = json!({"value": 3}));
    assert_eq!(
        message,
        "graph.json: operation 0, multiply (model.py:3): x: value 3 is used before an operation \
         makes it"
    );
}

#[test]
fn a_weight_of_another_shape_is_named() {
    let message = said(|graph| graph["weights"][0]["shape"] = json!([4]));
    assert!(
        message.starts_with("graph.json: weights: bias: declared"),
        "{message}"
    );
}

#[test]
fn an_option_that_is_not_known_is_named() {
    let message = said(|graph| graph["operations"][1]["options"] = json!({"alpha": 2}));
    assert!(message.ends_with("alpha: this version of seqloom-run does not know the option"));
}

#[test]
fn a_value_is_made_once() {
    let message = said(|graph| graph["operations"][1]["outputs"][0]["value"] = json!(2));
    assert!(
        message.ends_with("outputs: value 2 is made twice"),
        "{message}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_grew_after_its_size_was_read_is_read_no_further_than_the_limit() {
    // The size of a file in /proc is reported as 0, but it has bytes.
    let limits = Limits { memory_bytes: 10 };
    let error = Export::open_within(Path::new("/proc/self/status"), limits).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("has 11 bytes, more than the 10"),
        "{message}"
    );
}
