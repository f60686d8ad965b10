//! Tiles of products, and what becomes of their sums in registers.

#[cfg_attr(
    not(test),
    expect(
        clippy::wildcard_imports,
        reason = "instructions, whose names say where they are from"
    )
)]
use std::arch::x86_64::*;

use super::functions::gelu;
use super::numbers::{add_products, load, load_pairs, load_wide, store};
use super::{LANES, WIDE};
use crate::bfloat16::panels::Panels;

/// Rows of a tile, whose sums stay in registers.
const ROWS: usize = 8;

/// What becomes of sums beside the bias.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    /// Added to the sums.
    pub(crate) residual: Option<&'a [u16]>,
    /// Whether gelu is taken of the sums.
    pub(crate) gelu: bool,
}

/// Fills `out` with the layer's outputs for some rows.
pub(crate) fn multiply(rows: &[u16], panels: &Panels<'_>, finish: Finish<'_>, out: &mut [u16]) {
    let rows = Rows {
        pairs: rows.as_chunks().0,
        count: out.len() / panels.outputs,
        depth: panels.pairs,
    };
    // SAFETY: panels are made of a layer, which has a `Machine`: the instructions are there.
    #[expect(unsafe_code, reason = "the machine was asked")]
    unsafe {
        fill(&rows, panels, finish, out);
    }
}

/// Rows of pairs.
struct Rows<'a> {
    pairs: &'a [[u16; 2]],
    count: usize,
    /// Pairs of a row.
    depth: usize,
}

impl<'a> Rows<'a> {
    /// The rows of a tile; beyond the last, that one again.
    fn tile(&self, first: usize) -> [&'a [[u16; 2]]; ROWS] {
        std::array::from_fn(|row| {
            let row = (first + row).min(self.count - 1);
            &self.pairs[row * self.depth..][..self.depth]
        })
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn fill(rows: &Rows<'_>, panels: &Panels<'_>, finish: Finish<'_>, out: &mut [u16]) {
    for (number, panel) in panels.each().enumerate() {
        let column = number * WIDE;
        for row in (0..rows.count).step_by(ROWS) {
            let tile = rows.tile(row);
            let mut put = Put {
                panels,
                finish,
                at: (row, column),
                out: &mut *out,
            };
            match panel.len() / panels.pairs / LANES {
                1 => put.sums(&sum::<1>(tile, panel)),
                2 => put.sums(&sum::<2>(tile, panel)),
                _ => put.sums(&sum::<3>(tile, panel)),
            }
        }
    }
}

/// Sums a tile of rows by `V` registers.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn sum<const V: usize>(rows: [&[[u16; 2]]; ROWS], panel: &[u32]) -> [[__m512; V]; ROWS] {
    let (steps, _) = panel.as_chunks::<LANES>();
    let (steps, _) = steps.as_chunks::<V>();
    let rows = rows.map(|row| &row[..steps.len()]);
    let mut sums = [[_mm512_setzero_ps(); V]; ROWS];
    for (position, step) in steps.iter().enumerate() {
        let mut weights = [_mm512_setzero_si512(); V];
        for (weights, words) in weights.iter_mut().zip(step) {
            *weights = load_pairs(words);
        }
        for (row, sums) in rows.iter().zip(&mut sums) {
            // SAFETY: each row was cut to as many words as there are steps.
            #[expect(unsafe_code, reason = "the checks are a part of the loop's work")]
            let pair = unsafe { *row.get_unchecked(position) };
            let pair = _mm512_set1_epi32(bytemuck::cast(pair));
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = add_products(*sum, pair, weights);
            }
        }
    }
    sums
}

/// Where a tile's sums go.
struct Put<'a, 'b> {
    panels: &'a Panels<'a>,
    finish: Finish<'a>,
    /// Its first row and column.
    at: (usize, usize),
    out: &'b mut [u16],
}

impl Put<'_, '_> {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    #[inline]
    fn sums<const V: usize>(&mut self, sums: &[[__m512; V]; ROWS]) {
        let width = self.panels.outputs;
        let (first, column) = self.at;
        let rows = first..self.out.len() / width;
        for (row, sums) in rows.zip(sums) {
            for (v, &sum) in sums.iter().enumerate() {
                let column = column + v * LANES;
                let count = width.min(column + LANES) - column;
                self.put(sum, (row * width + column, column), count);
            }
        }
    }

    /// Puts some lanes into their position.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    #[inline]
    fn put(&mut self, sum: __m512, (position, column): (usize, usize), count: usize) {
        let mut value = _mm512_add_ps(sum, load_wide(&self.panels.bias[column..][..LANES]));
        if self.finish.gelu {
            value = gelu(value);
        }
        if let Some(residual) = self.finish.residual {
            value = _mm512_add_ps(value, load(&residual[position..][..count]));
        }
        store(value, &mut self.out[position..][..count]);
    }
}
