//! The fitted genotype encoder of a model: its variants, and the value of each genotype
//! code.

use std::path::Path;

use seqloom_core::{Error, Result, error::Fault};
use seqloom_graph::safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use super::VariantTables;
use super::matching::Variants;
use crate::json::JsonObject;

/// The genotype encoder of `encoder.json` and `encoder.safetensors`.
#[derive(Debug)]
pub(crate) struct GenotypeEncoder {
    pub(super) variants: Variants,
    pub(super) counts_a1: bool,
    codes: CodeValues,
}

/// A table of encoded values, with a row for each genotype code and a column for each
/// variant.
#[derive(Debug)]
enum CodeValues {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

const ENCODER_ARRAYS_FILE: &str = "encoder.safetensors";

impl GenotypeEncoder {
    /// Reads `encoder.json` and `encoder.safetensors`. Returns `None` for a model of
    /// sequences.
    pub(crate) fn read(file: &Value, arrays: Option<&SafeTensors<'_>>) -> Result<Option<Self>> {
        let kernel = JsonObject::new("encoder.json".as_ref(), file).object("kernel")?;
        if kernel.text("kind")? != "genotypes" {
            return Ok(None);
        }
        let covariates = kernel.texts("covariates")?;
        if !covariates.is_empty() {
            return Err(Error::argument(format!(
                "the model reads the covariates {} too, which this program does not: use \
                 seqloom predict --covariates TABLE",
                covariates.join(", ")
            )));
        }
        let arrays = arrays.ok_or_else(|| fault("no such file, but the encoder needs it"))?;
        let variants = Variants {
            ids: read_strings(arrays, "id")?,
            counted: read_strings(arrays, "counted")?,
            other: read_strings(arrays, "other")?,
        };
        let count = variants.ids.len();
        if count == 0 || [variants.counted.len(), variants.other.len()] != [count; 2] {
            return Err(fault("ids and alleles must be of equal length, above 0"));
        }
        Ok(Some(Self {
            codes: read_codes(arrays, count)?,
            counts_a1: kernel.flag("count_a1")?,
            variants,
        }))
    }

    /// Returns the tables of encoded values, according to the alleles of a file.
    pub(super) fn tables(&self, is_flipped: &[bool]) -> Result<VariantTables> {
        Ok(match &self.codes {
            CodeValues::Single(codes) => VariantTables::Single(tables_by_code(codes, is_flipped)?),
            CodeValues::Double(codes) => VariantTables::Double(tables_by_code(codes, is_flipped)?),
        })
    }
}

/// Returns the encoded values of each genotype code for all variants. If the file
/// counts the other allele of a variant, codes 0 and 3 are exchanged.
fn tables_by_code<T: Copy>(codes: &[T], is_flipped: &[bool]) -> Result<[Vec<T>; 4]> {
    let count = is_flipped.len();
    let mut rows = codes.chunks_exact(count.max(1)).map(<[T]>::to_vec);
    let mut next = || rows.next().ok_or_else(|| fault("tables must have 4 rows"));
    let mut tables = [next()?, next()?, next()?, next()?];
    let [first, .., last] = &mut tables;
    let pairs = first.iter_mut().zip(last).zip(is_flipped);
    for ((first, last), _) in pairs.filter(|(_, is_flipped)| **is_flipped) {
        std::mem::swap(first, last);
    }
    Ok(tables)
}

fn read_codes(arrays: &SafeTensors<'_>, count: usize) -> Result<CodeValues> {
    let array = tensor(arrays, "tables")?;
    if array.shape() != [4, count] {
        let found = array.shape();
        return Err(fault(format!(
            "tables must be (4, {count}), found {found:?}"
        )));
    }
    let data = array.data();
    match array.dtype() {
        Dtype::F32 => Ok(CodeValues::Single(numbers(data, f32::from_le_bytes))),
        Dtype::F64 => Ok(CodeValues::Double(numbers(data, f64::from_le_bytes))),
        other => Err(fault(format!("tables must be floats, found {other:?}"))),
    }
}

/// Returns the strings of a column, which is stored as concatenated UTF-8 with offsets.
fn read_strings(arrays: &SafeTensors<'_>, name: &str) -> Result<Vec<String>> {
    let text = tensor(arrays, &format!("{name}_text"))?;
    let ends = tensor(arrays, &format!("{name}_ends"))?;
    if (text.dtype(), ends.dtype()) != (Dtype::U8, Dtype::I64) {
        return Err(fault(format!("{name}: expected uint8 and int64")));
    }
    let ends = numbers(ends.data(), i64::from_le_bytes);
    let cut = |pair: &[i64]| {
        let [start, stop] = pair else { return None };
        let range = usize::try_from(*start).ok()?..usize::try_from(*stop).ok()?;
        let bytes = text.data().get(range)?;
        Some(str::from_utf8(bytes).ok()?.to_owned())
    };
    let texts: Option<Vec<String>> = ends.windows(2).map(cut).collect();
    texts.ok_or_else(|| {
        fault(format!(
            "{name}: the offsets do not split the text into strings"
        ))
    })
}

fn numbers<T, const SIZE: usize>(data: &[u8], read: fn([u8; SIZE]) -> T) -> Vec<T> {
    data.as_chunks::<SIZE>()
        .0
        .iter()
        .map(|it| read(*it))
        .collect()
}

fn tensor<'a>(
    arrays: &SafeTensors<'a>,
    name: &str,
) -> Result<seqloom_graph::safetensors::tensor::TensorView<'a>> {
    let found = arrays.tensor(name);
    found.map_err(|_| fault(format!("the array {name} is missing")))
}

fn fault(message: impl Into<String>) -> Error {
    Error::format(Path::new(ENCODER_ARRAYS_FILE), Fault::of_file(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_exchanged_for_flipped_alleles() {
        let tables =
            tables_by_code(&[2.0, 2.0, 9.0, 9.0, 1.0, 1.0, 0.0, 0.5], &[false, true]).unwrap();
        assert_eq!(tables[0], [2.0, 0.5]);
        assert_eq!(tables[3], [0.0, 2.0]);
        assert_eq!(
            (&tables[1][..], &tables[2][..]),
            (&[9.0; 2][..], &[1.0; 2][..])
        );
    }
}
