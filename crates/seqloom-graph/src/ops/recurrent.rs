//! Recurrent layers: one product for all inputs, and a loop over time.

use seqloom_kernels::Float;
use seqloom_kernels::recurrent::{Gru, Layer, Lstm, Outputs, Sums, forward};

use super::call::Call;
use super::product::layer;
use super::states::inferred;
use super::windows::require_one_type;
use crate::Dtype;
use crate::memory::{Outcome, Read, Taken, Write, by_float};
use crate::plan::{Builder, Item};

/// Sizes of sequences, positions and states, and how the layer runs.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) length: usize,
    pub(super) width: usize,
    pub(super) has_cells: bool,
    pub(super) is_reverse: bool,
    /// Whether states have a bias, and positions a mask.
    pub(super) has: [bool; 2],
}

impl Sizes {
    pub(super) fn gates(&self) -> usize {
        if self.has_cells { 4 } else { 3 }
    }

    /// Numbers that are kept for each of a state.
    pub(super) fn kept(&self) -> usize {
        self.gates() + 1
    }

    pub(super) fn cost(&self) -> usize {
        let numbers = self.batch.saturating_mul(self.length);
        let numbers = numbers.saturating_mul(self.width);
        numbers.saturating_mul(self.width.saturating_mul(self.gates()) / 32 + 10)
    }

    /// The layer of first states and cells, and of weights, which come next.
    pub(super) fn layer<'a, T: Float>(
        &self,
        given: &mut Taken<'_, 'a>,
        mask: Option<&'a [bool]>,
    ) -> Outcome<Layer<'a, T>> {
        Ok(Layer {
            states: given.take()?,
            cells: given.take_if(self.has_cells)?.unwrap_or_default(),
            weight: given.take()?,
            mask,
            length: self.length,
            width: self.width,
            reverse: self.is_reverse,
        })
    }

    /// Those of arrays that fit together.
    pub(super) fn of(call: &Call<'_>) -> Outcome<Self> {
        let (x, h0, w_hh) = (call.array("x")?, call.array("h0")?, call.array("w_hh")?);
        let has_cells = call.name() == "lstm";
        let c0 = if has_cells {
            Some(call.array("c0")?)
        } else {
            None
        };
        let b_hh = call.array_if("b_hh")?;
        let ([batch, length, _], [_, width]) = (x.shape(), h0.shape()) else {
            return Err("x and h0: expected (n, l, in) and (n, width)".to_owned());
        };
        let sizes = Self {
            batch: *batch,
            length: *length,
            width: *width,
            has_cells,
            is_reverse: call.flag("reverse")?,
            has: [b_hh.is_some(), call.get("mask")?.is_some()],
        };
        let rows = width.checked_mul(sizes.gates()).unwrap_or(0);
        let firsts = [Some(&h0), c0.as_ref()].into_iter().flatten();
        let fits = firsts
            .into_iter()
            .all(|first| first.shape() == [*batch, *width])
            && w_hh.shape() == [rows, *width]
            && b_hh.is_none_or(|bias| bias.shape() == [rows]);
        if fits && *length > 0 && *batch > 0 && *width > 0 {
            return Ok(sizes);
        }
        Err(format!(
            "expected positions, x (n, l, in), h0 and c0 (n, width), w_hh and b_hh of {} * width \
             rows, got x {:?}, h0 {:?} and w_hh {:?}",
            sizes.gates(),
            x.shape(),
            h0.shape(),
            w_hh.shape()
        ))
    }
}

/// Every state, the last ones, and what a gradient reads; only what is read is computed.
pub(crate) fn apply(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<Item>> {
    let sizes = Sizes::of(call)?;
    let results = call.operation.outputs.len();
    if (2..results).any(|number| call.is_read(number)) {
        return whole(b, call, sizes);
    }
    let Sizes {
        batch,
        length,
        width,
        ..
    } = sizes;
    let dtype = call.array("x")?.dtype;
    let last = if sizes.is_reverse { 0 } else { length - 1 };
    let (states, ended) = if call.is_read(0) {
        let states = inferred(b, call, sizes, None)?;
        let ended = states.seen(states.layout.at(1, last));
        (states, ended)
    } else {
        let place = super::create::fill(
            b,
            Dtype::Int64,
            &[batch],
            super::call::to_float(last.cast_signed() as i64),
        )?;
        (
            b.room(dtype, &[batch, length, width])?,
            inferred(b, call, sizes, Some(place))?,
        )
    };
    let mut made = vec![states, ended];
    if sizes.has_cells {
        made.push(b.room(dtype, &[batch, width])?);
    }
    made.push(b.room(dtype, &[batch, length, sizes.kept() * width])?);
    Ok(made)
}

/// All results, with those that a gradient reads.
fn whole(b: &mut Builder, call: &Call<'_>, sizes: Sizes) -> Outcome<Vec<Item>> {
    let Sizes {
        batch,
        length,
        width,
        ..
    } = sizes;
    let reads = reads(b, call, &sizes)?;
    let dtype = call.array("x")?.dtype;
    let states = b.room(dtype, &[batch, length, width])?;
    let kept = b.room(dtype, &[batch, length, sizes.kept() * width])?;
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| by_float!(dtype, T => run::<T>(sizes, reads, writes, threads)),
    );
    b.step(reads, &[&states, &kept], kernel)?;
    let last = if sizes.is_reverse { 0 } else { length - 1 };
    let ended = states.seen(states.layout.at(1, last));
    if !sizes.has_cells {
        return Ok(vec![states, ended, kept]);
    }
    let cells = kept.layout.at(1, last).part(1, 4 * width, width, 1);
    let cell = kept.seen(cells);
    Ok(vec![states, ended, cell, kept])
}

/// First states and cells, weights of states, and their bias where it is given.
pub(super) fn state_arrays(call: &Call<'_>, sizes: &Sizes) -> Outcome<Vec<Item>> {
    let mut given = vec![call.array("h0")?];
    if sizes.has_cells {
        given.push(call.array("c0")?);
    }
    given.push(call.array("w_hh")?);
    given.extend(call.array_if("b_hh")?);
    Ok(given)
}

/// What the inputs add, first states and cells, weights, and a bias and a mask where given.
fn reads(b: &mut Builder, call: &Call<'_>, sizes: &Sizes) -> Outcome<Vec<Item>> {
    let (x, w_ih, b_ih) = (
        call.array("x")?,
        call.array("w_ih")?,
        call.array_if("b_ih")?,
    );
    let mut given = state_arrays(call, sizes)?;
    let all: Vec<Option<&Item>> = given.iter().map(Some).collect();
    require_one_type(&[&[Some(&x), Some(&w_ih), b_ih.as_ref()], &all[..]].concat())?;
    let seen = layer(b, &x, &w_ih, b_ih.as_ref())?;
    let rows = sizes.gates() * sizes.width;
    if seen.shape() != [sizes.batch, sizes.length, rows] {
        return Err(format!("w_ih: expected {rows} rows"));
    }
    given.insert(0, seen);
    given.extend(mask(b, call, sizes)?);
    given.iter().map(|item| b.plain(item)).collect()
}

pub(super) fn mask(b: &mut Builder, call: &Call<'_>, sizes: &Sizes) -> Outcome<Option<Item>> {
    let Some(mask) = call.array_if("mask")? else {
        return Ok(None);
    };
    if mask.shape() != [sizes.batch, sizes.length] {
        let (expected, found) = ([sizes.batch, sizes.length], mask.shape());
        return Err(format!("mask: expected {expected:?}, got {found:?}"));
    }
    b.cast(&mask, Dtype::Bool).map(Some)
}

fn run<T: Float>(
    sizes: Sizes,
    reads: &[Read<'_>],
    writes: &mut [Write<'_>],
    threads: usize,
) -> Outcome {
    let [states, kept] = writes else {
        return Ok(());
    };
    let (mask, reads) = masked(&sizes, reads)?;
    let mut given = Taken::new(reads);
    let seen = given.take::<T>()?;
    let layer = sizes.layer(&mut given, mask)?;
    let bias = given.take_if(sizes.has[0])?;
    let outputs = Outputs {
        states: states.plain()?,
        kept: kept.plain()?,
    };
    let threads = seqloom_kernels::worth_waking(threads, sizes.cost());
    if sizes.has_cells {
        forward(Lstm, &layer, Sums { seen, bias }, outputs, threads);
    } else {
        forward(Gru, &layer, Sums { seen, bias }, outputs, threads);
    }
    Ok(())
}

/// The mask, which is last where there is one, and the other arrays.
pub(super) fn masked<'r, 'a>(
    sizes: &Sizes,
    reads: &'r [Read<'a>],
) -> Outcome<(Option<&'a [bool]>, &'r [Read<'a>])> {
    match reads.split_last() {
        Some((mask, reads)) if sizes.has[1] => Ok((Some(mask.truths()?), reads)),
        _ => Ok((None, reads)),
    }
}
