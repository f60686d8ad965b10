//! The `inspect` command, which describes the inputs and outputs of a model.

use std::fmt::Write;

use seqloom_run::graph::graph::{Dim, NamedValue};
use seqloom_run::graph::{BatchLayout, Crop, Export, Manifest, PairMode, TaskName};
use seqloom_run::{Result, format_thousands};
use serde_json::Value;

use super::arguments::CommandLine;

/// Returns a description of an exported model, after checking the hash of every file.
pub(super) fn describe_model(arguments: &CommandLine) -> Result<String> {
    let export = Export::open(&arguments.export)?;
    // The graph is planned too, so that a graph that this program cannot run is
    // reported as an error.
    let text = describe_export(&arguments.export.to_string_lossy(), &export);
    seqloom_run::Predictor::new(export, arguments.memory_limits(), 1)?;
    Ok(text)
}

fn describe_export(path: &str, export: &Export) -> String {
    let manifest = export.manifest();
    let graph = export.graph();
    let lines = [
        ("file", path.to_owned()),
        ("written by", manifest.written_by.clone()),
        ("format", format!("version {}", manifest.version)),
        ("task", describe_task(manifest)),
        ("reads", describe_records(export)),
        ("batch", describe_batch(manifest)),
        (
            "inputs",
            graph
                .inputs()
                .iter()
                .map(describe_input)
                .collect::<Vec<_>>()
                .join(", "),
        ),
        ("outputs", graph.outputs().collect::<Vec<_>>().join(", ")),
        (
            "operations",
            format_thousands(graph.operations().len() as u64),
        ),
        ("weights", describe_weights(export)),
        ("checked", "every hash that export.json lists".to_owned()),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{name:<11} {value}");
    }
    text
}

fn describe_task(manifest: &Manifest) -> String {
    let name = match manifest.task.name {
        TaskName::Classify => "classify",
        TaskName::Multilabel => "multilabel",
        TaskName::Regress => "regress",
        TaskName::Custom => "custom",
    };
    if manifest.task.columns.is_empty() {
        return name.to_owned();
    }
    format!("{name}: {}", manifest.task.columns.join(", "))
}

/// Appends a description of the records that the model reads.
fn describe_records(export: &Export) -> String {
    let kernel = export.encoder().and_then(|file| file.get("kernel"));
    let Some(kernel) = kernel else {
        return "arrays".to_owned();
    };
    let text_at =
        |place: &Value, key: &str| place.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text_at(kernel, "kind").unwrap_or_default();
    let alphabet = kernel.get("letters").and_then(|it| text_at(it, "alphabet"));
    let mut text = kind;
    if let Some(alphabet) = alphabet {
        let _ = write!(text, " of {alphabet}");
    }
    let manifest = export.manifest();
    if let Some(length) = manifest.length {
        let _ = write!(text, ", {} positions", format_thousands(length as u64));
    }
    if manifest.crop == Some(Crop::Pad) {
        text.push_str(", cut or padded");
    }
    if manifest.pair == Some(PairMode::Sum) {
        text.push_str(", pairs");
    }
    text
}

fn describe_batch(manifest: &Manifest) -> String {
    let layout = match manifest.layout {
        BatchLayout::Padded => "padded",
        BatchLayout::Packed => "packed",
    };
    format!(
        "{} records, {layout}",
        format_thousands(manifest.batch_size as u64)
    )
}

fn describe_input(input: &NamedValue) -> String {
    let sizes = input.declared.shape.iter().map(|size| match size {
        Dim::Fixed(size) => size.to_string(),
        Dim::Named(name) => name.clone(),
    });
    let sizes: Vec<String> = sizes.collect();
    format!(
        "{} {} ({})",
        input.name,
        input.declared.dtype,
        sizes.join(", ")
    )
}

fn describe_weights(export: &Export) -> String {
    let count = |input: &NamedValue| {
        let sizes = input.declared.shape.iter().map(|size| match size {
            Dim::Fixed(size) => *size as u64,
            Dim::Named(_) => 1,
        });
        sizes.product::<u64>()
    };
    let numbers = export.graph().weights().iter().map(count).sum();
    let arrays = export.graph().weights().len();
    format!(
        "{} numbers in {arrays} arrays, {} bytes",
        format_thousands(numbers),
        format_thousands(export.weight_bytes() as u64)
    )
}
