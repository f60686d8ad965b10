//! Computes the graph of a model for batches. The result has one row for each record.

use seqloom_core::{Error, Result, error::Fault};
use seqloom_graph::{Array, BatchLayout, Export, Input, Limits, Manifest, Model, PoolMode};

use crate::{feed::FeedBatch, sequences::MASK_INPUT};

/// The graph of a model, and the method by which its outputs are pooled.
pub(crate) struct Network {
    model: Model,
    pool: Option<PoolMode>,
    threads: usize,
}

/// The rows of a matrix of outputs.
#[derive(Debug, Default)]
pub(crate) struct NetworkOutputs {
    pub(crate) values: Vec<f32>,
    pub(crate) columns: usize,
}

impl Network {
    /// Creates the network from an exported model.
    pub(crate) fn new(export: Export, limits: Limits, threads: usize) -> Result<Self> {
        let manifest = export.manifest();
        let pool = pool_of(manifest)?;
        Ok(Self {
            model: Model::new(export, limits)?,
            pool,
            threads,
        })
    }

    /// Computes the graph for input arrays, and returns all outputs.
    pub(crate) fn run(&self, inputs: &[Input<'_>]) -> Result<Vec<Array>> {
        self.model.run(inputs, self.threads)
    }

    /// Computes the graph for a batch, and returns its outputs as rows.
    pub(crate) fn outputs(&self, batch: &FeedBatch) -> Result<NetworkOutputs> {
        let arrays = batch.arrays.iter();
        let wanted = arrays.filter(|array| !(batch.is_full && array.name == MASK_INPUT));
        let inputs: Vec<Input<'_>> = wanted.map(crate::array::InputArray::as_input).collect();
        let arrays = self.run(&inputs)?;
        let first = arrays.into_iter().next();
        let first = first.ok_or_else(|| fault("the graph has no output"))?;
        let Some(values) = first.values.as_f32() else {
            return Err(fault("the first output must be float32"));
        };
        let rows = match self.pool {
            None => batch.rows.len(),
            Some(_) => batch.segments.last().map_or(0, |end| size(*end)),
        };
        let columns = values.len().checked_div(rows).unwrap_or(0);
        if first.shape.first() != Some(&rows) {
            return Err(fault(format!(
                "the first output must have a row for each of {rows}, found the shape {:?}",
                first.shape
            )));
        }
        let values = match self.pool {
            None => values.to_vec(),
            Some(pool) => pool_tokens(pool, (values, columns), &batch.segments),
        };
        Ok(NetworkOutputs { values, columns })
    }
}

fn pool_of(manifest: &Manifest) -> Result<Option<PoolMode>> {
    match (manifest.layout, manifest.pool) {
        (BatchLayout::Padded, None) => Ok(None),
        (BatchLayout::Packed, Some(pool)) => Ok(Some(pool)),
        (BatchLayout::Padded, Some(_)) => Err(fault("a padded graph has no tokens to pool")),
        (BatchLayout::Packed, None) => Err(fault(
            "a packed graph has a row for each token: pool must be mean or cls",
        )),
    }
}

/// Pools the rows of the tokens of each record. Returns one row for each record.
fn pool_tokens(pool: PoolMode, (values, columns): (&[f32], usize), segments: &[i64]) -> Vec<f32> {
    let mut joined = Vec::new();
    for pair in segments.windows(2) {
        let (start, stop) = (size(pair[0]), size(pair[1]));
        match pool {
            PoolMode::Cls => joined.extend(row(values, columns, start)),
            PoolMode::Mean => {
                // The first and the last token of a record are special tokens, so they
                // are excluded from the mean.
                let inner = start + 1..stop.saturating_sub(1);
                joined.extend(mean_of_rows(
                    inner.map(|token| row(values, columns, token)),
                    columns,
                ));
            }
        }
    }
    joined
}

/// Returns the mean of rows, summed in double precision.
fn mean_of_rows<'a>(rows: impl Iterator<Item = &'a [f32]>, columns: usize) -> Vec<f32> {
    let (mut sums, mut count) = (vec![0.0_f64; columns], 0.0);
    for row in rows {
        count += 1.0;
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    sums.into_iter().map(|sum| to_f32(sum / count)).collect()
}

fn row(values: &[f32], columns: usize, row: usize) -> &[f32] {
    values
        .get(row * columns..(row + 1) * columns)
        .unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to nearest")]
fn to_f32(number: f64) -> f32 {
    number as f32
}

fn size(position: i64) -> usize {
    usize::try_from(position).unwrap_or_default()
}

fn fault(message: impl Into<String>) -> Error {
    Error::format("graph.json".as_ref(), Fault::of_file(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f32; 14] = [
        9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 7.0, 8.0, 5.0, 6.0, 9.0, 9.0,
    ];

    #[test]
    fn mean_pooling_excludes_both_ends() {
        let joined = pool_tokens(PoolMode::Mean, (&VALUES, 2), &[0, 4, 7]);
        assert_eq!(joined, [2.0, 3.0, 5.0, 6.0]);
    }

    #[test]
    fn cls_pooling_returns_the_first_row() {
        let joined = pool_tokens(PoolMode::Cls, (&VALUES, 2), &[0, 4, 7]);
        assert_eq!(joined, [9.0, 9.0, 7.0, 8.0]);
    }
}
