//! The columns of one packed batch.

use std::iter;

use seqloom_core::{BufferPool, Result};

use super::resume::ResumePoint;
use super::row::TokenRow;
use crate::gather::RaggedRows;

/// Concatenated windows and their metadata.
#[derive(Debug)]
pub struct PackedBatch {
    /// The tokens of all windows.
    pub tokens: Vec<u32>,
    /// The index of each token in its window.
    pub positions: Vec<u32>,
    /// The offset of each window in `tokens`, followed by the number of tokens.
    pub bounds: Vec<i32>,
    /// The number of tokens of the longest window.
    pub longest: usize,
    /// The id of each window's record.
    pub ids: RaggedRows,
    /// The ordinal of each window's record.
    pub ordinals: Vec<i64>,
    /// The index of each window's first residue in its record.
    pub starts: Vec<i64>,
    /// The number of residues of each window's record.
    pub lengths: Vec<i64>,
    /// For each window, the range (start, stop) of residues that are used when windows are
    /// merged.
    pub keep: Vec<i32>,
    /// Counts of unusual characters by kind since the last batch.
    pub met: [i64; 7],
    /// The position from which the stream resumes after this batch.
    pub resume: ResumePoint,
}

impl PackedBatch {
    /// Copies tokenised windows into reused memory.
    pub(super) fn new(rows: &[TokenRow], buffer_pool: &BufferPool<u32>) -> Result<Self> {
        let (tokens, positions) = join_tokens(rows, buffer_pool)?;
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let column = |of: fn(&TokenRow) -> usize| rows.iter().map(|row| whole(of(row))).collect();
        Ok(Self {
            tokens,
            positions,
            bounds: offsets(rows),
            longest: rows.iter().map(TokenRow::size).max().unwrap_or_default(),
            ids: window_ids(rows),
            ordinals: rows.iter().map(|row| row.key().0.cast_signed()).collect(),
            starts: column(|row| row.info.window.start),
            lengths: column(|row| row.info.letters),
            keep: rows.iter().flat_map(kept_range).collect(),
            met: [0; 7],
            resume: ResumePoint::default(),
        })
    }
}

/// Returns the tokens of all windows, and the index of each token in its window.
fn join_tokens(rows: &[TokenRow], buffer_pool: &BufferPool<u32>) -> Result<(Vec<u32>, Vec<u32>)> {
    let total = rows.iter().map(TokenRow::size).sum();
    let (mut tokens, mut positions) = (buffer(total, buffer_pool)?, buffer(total, buffer_pool)?);
    for row in rows {
        tokens.extend_from_slice(&row.tokens);
        positions.extend((0..).zip(&row.tokens).map(|(number, _)| number));
    }
    Ok((tokens, positions))
}

fn buffer(total: usize, buffer_pool: &BufferPool<u32>) -> Result<Vec<u32>> {
    let mut vector = buffer_pool.take();
    vector.clear();
    let full = || format!("a batch of {total} tokens does not fit into memory");
    vector
        .try_reserve(total)
        .map_err(|_| seqloom_core::Error::full(full()))?;
    Ok(vector)
}

fn offsets(rows: &[TokenRow]) -> Vec<i32> {
    let ends = rows.iter().scan(0_usize, |end, row| {
        *end += row.size();
        Some(to_i32(*end))
    });
    iter::once(0).chain(ends).collect()
}

fn window_ids(rows: &[TokenRow]) -> RaggedRows {
    let mut ids = RaggedRows::default();
    ids.offsets.push(0);
    for row in rows {
        ids.data.extend_from_slice(&row.info.id);
        ids.offsets
            .push(i64::try_from(ids.data.len()).unwrap_or(i64::MAX));
    }
    ids
}

fn kept_range(row: &TokenRow) -> [i32; 2] {
    let (start, stop) = row.info.window.keep;
    [to_i32(start), to_i32(stop)]
}

fn to_i32(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
