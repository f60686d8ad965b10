//! Tests of the conditions under which an export can be opened.

use std::path::Path;

use serde_json::{Value, json};

use super::ExportFixture;
use crate::{BatchLayout, Export, Limits, TaskName};

/// Changes `graph.json`, and returns the error message from opening the export.
fn error_after_change(change: impl FnOnce(&mut Value)) -> String {
    let mut files = ExportFixture::doubling_model();
    files.edit_graph(change);
    files.open().unwrap_err()
}

#[test]
fn an_export_reports_its_manifest_and_graph() {
    let export = ExportFixture::doubling_model().open().unwrap();
    assert_eq!(export.manifest().task.name, TaskName::Custom);
    assert_eq!(export.manifest().layout, BatchLayout::Padded);
    assert_eq!(export.graph().operations()[1].source_line(), "model.py:4");
    assert!(export.encoder().is_none());
}

#[test]
fn a_newer_version_is_an_error() {
    let mut files = ExportFixture::doubling_model();
    files.manifest["version"] = json!(3);
    files.manifest["layout"] = json!("unheard of");
    let message = files.open().unwrap_err();
    assert!(message.starts_with("export.json: version 3 of the format is newer than 2"));
}

#[test]
fn a_file_with_a_wrong_hash_is_an_error() {
    let files = ExportFixture::doubling_model();
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
fn a_changed_export_json_is_an_error() {
    let mut manifest = ExportFixture::doubling_model().manifest;
    manifest["checksum"] = json!("0".repeat(64));
    let error = Export::from_zip(ExportFixture::doubling_model().zip_with(&manifest)).unwrap_err();
    assert!(error.to_string().contains("its checksum differs"));
}

#[test]
fn an_unlisted_file_is_an_error() {
    let mut files = ExportFixture::doubling_model();
    let manifest_with_hashes = files.manifest_with_hashes();
    files.contents.insert("encoder.json".into(), b"{}".to_vec());
    let error = Export::from_zip(files.zip_with(&manifest_with_hashes)).unwrap_err();
    assert!(error.to_string().contains("does not list this file"));
}

#[test]
fn an_unknown_operation_is_named_in_the_error() {
    assert_eq!(
        error_after_change(|graph| graph["operations"][1]["name"] = json!("conjure")),
        "graph.json: operation 1, conjure (model.py:4): this version of seqloom-run does not \
         support the operation; use a newer one, or another operation"
    );
}

#[test]
fn a_cycle_is_reported_as_a_value_used_before_its_definition() {
    let message =
        error_after_change(|graph| graph["operations"][0]["args"][0] = json!({"value": 3}));
    assert_eq!(
        message,
        "graph.json: operation 0, multiply (model.py:3): x: value 3 is used before it is \
         defined"
    );
}

#[test]
fn a_weight_with_a_wrong_shape_is_named_in_the_error() {
    let message = error_after_change(|graph| graph["weights"][0]["shape"] = json!([4]));
    assert!(
        message.starts_with("graph.json: weights: bias: declared"),
        "{message}"
    );
}

#[test]
fn an_unknown_option_is_named_in_the_error() {
    let message =
        error_after_change(|graph| graph["operations"][1]["options"] = json!({"alpha": 2}));
    assert!(message.ends_with("alpha: this version of seqloom-run does not support the option"));
}

#[test]
fn a_value_defined_twice_is_an_error() {
    let message =
        error_after_change(|graph| graph["operations"][1]["outputs"][0]["value"] = json!(2));
    assert!(
        message.ends_with("outputs: value 2 is defined twice"),
        "{message}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_grows_is_read_up_to_the_limit_only() {
    // The size of a file in /proc is reported as 0, even if the file is not empty.
    let limits = Limits { memory_bytes: 10 };
    let error = Export::open_with_limits(Path::new("/proc/self/status"), limits).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("has 11 bytes, more than the 10"),
        "{message}"
    );
}
