//! Changes values of a JSON document, which remains valid JSON.

use serde_json::{Value, json};

use crate::choices::Choices;

/// Strings that some documents accept as values.
const KNOWN_STRINGS: [&str; 30] = [
    "",
    "a",
    "dna",
    "rna",
    "protein",
    "iupac",
    "ACGT",
    "fold",
    "mask",
    "keep",
    "error",
    "zeros",
    "replace",
    "one_hot",
    "lookup",
    "quality",
    "kmers",
    "kmer_counts",
    "genotypes",
    "float32",
    "float64",
    "int32",
    "int64",
    "padded",
    "packed",
    "pad",
    "sum",
    "mean",
    "regress",
    "custom",
];

/// Replaces or removes a random value.
pub fn change(value: &mut Value, choices: &mut Choices<'_>) {
    let is_here = choices.one_in(5);
    let inner = match value {
        Value::Object(fields) if !fields.is_empty() && !is_here => {
            let number = choices.below(fields.len());
            if choices.one_in(12) {
                let name = fields.keys().nth(number).cloned().unwrap_or_default();
                fields.remove(&name);
                return;
            }
            fields.values_mut().nth(number)
        }
        Value::Array(items) if !items.is_empty() && !is_here => {
            let number = choices.below(items.len());
            if choices.one_in(12) {
                items.remove(number);
                return;
            }
            items.get_mut(number)
        }
        _ => None,
    };
    match inner {
        Some(inner) => change(inner, choices),
        None => *value = random_value(choices),
    }
}

fn random_value(choices: &mut Choices<'_>) -> Value {
    match choices.byte() % 12 {
        0 => Value::Null,
        1 => json!(choices.one_in(2)),
        2 | 3 => json!(choices.number()),
        4 => json!(choices.number().cast_signed()),
        5 => json!(f64::from_bits(choices.number())),
        6 => json!([choices.number(), "a"]),
        7 => json!({}),
        8 => json!(vec![choices.byte(); choices.below(300)]),
        _ => json!(KNOWN_STRINGS[choices.below(KNOWN_STRINGS.len())]),
    }
}
