//! The description of a model for the page.

use seqloom_graph::{Crop, Export, TaskName};
use seqloom_run::{Encoder, Predictor};
use serde_json::{Value, json};

use crate::occlusion::MaskResidues;

/// The properties of an exported model.
#[derive(Debug)]
pub(crate) struct ModelFacts {
    operations: usize,
    weight_bytes: usize,
    settings: Value,
}

impl ModelFacts {
    pub(crate) fn of(export: &Export) -> Self {
        let settings = export.encoder().and_then(|file| file.get("settings"));
        Self {
            operations: export.graph().operations().len(),
            weight_bytes: export.weight_bytes(),
            settings: settings.cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn to_json(&self, predictor: &Predictor) -> String {
        let manifest = predictor.manifest();
        let letters = predictor.encoder().map(Encoder::letters);
        let facts = json!({
            "task": task_name(manifest.task.name),
            "columns": manifest.task.columns,
            "length": manifest.length,
            "crops": manifest.crop == Some(Crop::Pad),
            "is_paired": manifest.pair.is_some(),
            "letters": letters.map(|it| String::from_utf8_lossy(it.residues()).into_owned()),
            "can_look": MaskResidues::of(predictor).is_ok(),
            "written_by": manifest.written_by,
            "version": manifest.version,
            "operations": self.operations,
            "weight_bytes": self.weight_bytes,
            "encoder": self.settings.get("class"),
            "alphabet": self.settings.get("alphabet"),
        });
        facts.to_string()
    }
}

fn task_name(task: TaskName) -> &'static str {
    match task {
        TaskName::Classify => "classify",
        TaskName::Multilabel => "multilabel",
        TaskName::Regress => "regress",
        TaskName::Custom => "custom",
    }
}
