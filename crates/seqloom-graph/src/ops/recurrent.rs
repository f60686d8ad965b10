//! Recurrent layers.

use seqloom_kernels::Float;
use seqloom_kernels::recurrent::{
    self, RecurrentInputs, RecurrentLayer, RecurrentOutputs, forward,
};

use super::call::Call;
use super::windows::require_one_type;
use crate::Dtype;
use crate::memory::{Outcome, Read, ReadIter, Write, by_float};
use crate::plan::{Builder, View};

/// Sizes of sequences, positions and states, and how the layer runs.
#[derive(Clone, Copy)]
pub(super) struct RecurrentSizes {
    pub(super) batch: usize,
    pub(super) length: usize,
    pub(super) width: usize,
    pub(super) has_cells: bool,
    pub(super) is_reverse: bool,
    /// Whether states have a bias, and positions a mask.
    pub(super) has: [bool; 2],
}

impl RecurrentSizes {
    fn gates(&self) -> usize {
        recurrent::gates(self.has_cells)
    }

    /// Numbers that are kept for each of a state.
    fn kept(&self) -> usize {
        recurrent::kept(self.has_cells)
    }

    fn cost(&self) -> usize {
        let numbers = self.batch.saturating_mul(self.length);
        let numbers = numbers.saturating_mul(self.width);
        numbers.saturating_mul(self.width.saturating_mul(self.gates()) / 32 + 10)
    }

    /// The layer of first states and cells, of weights and of a bias, which come next.
    fn layer<'a, T: Float>(
        &self,
        given: &mut ReadIter<'_, 'a>,
        mask: Option<&'a [bool]>,
    ) -> Outcome<RecurrentLayer<'a, T>> {
        Ok(RecurrentLayer {
            states: given.take()?,
            cells: given.take_if(self.has_cells)?,
            weight: given.take()?,
            bias: given.take_if(self.has[0])?,
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
pub(crate) fn apply(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let sizes = RecurrentSizes::of(call)?;
    let RecurrentSizes {
        batch,
        length,
        width,
        ..
    } = sizes;
    let dtype = call.array("x")?.dtype;
    let last = if sizes.is_reverse { 0 } else { length - 1 };
    let kept = b.allocate(dtype, &[batch, length, sizes.kept() * width])?;
    let keeps = (2..call.operation.outputs.len()).any(|number| call.is_read(number));
    let (states, ended) = if keeps || call.is_read(0) {
        let states = compute(
            b,
            call,
            sizes,
            &RequestedStates::All(keeps.then_some(&kept)),
        )?;
        let ended = states.with_layout(states.layout.at(1, last));
        (states, ended)
    } else {
        let place = super::call::to_float(last.cast_signed() as i64);
        let place = super::create::fill(b, Dtype::Int64, &[batch], place)?;
        let ended = compute(b, call, sizes, &RequestedStates::At(place))?;
        (b.allocate(dtype, &[batch, length, width])?, ended)
    };
    if !sizes.has_cells {
        return Ok(vec![states, ended, kept]);
    }
    let cell = kept.layout.at(1, last).part(1, 4 * width, width, 1);
    Ok(vec![states, ended, kept.with_layout(cell), kept])
}

/// The states that are computed.
pub(super) enum RequestedStates<'a> {
    /// All, and what a gradient reads if memory for it is given.
    All(Option<&'a View>),
    /// That at one place of each sequence.
    At(View),
}

/// Computes the states that are wanted.
pub(super) fn compute(
    b: &mut Builder,
    call: &Call<'_>,
    sizes: RecurrentSizes,
    wanted: &RequestedStates<'_>,
) -> Outcome<View> {
    let x = call.array("x")?;
    let inside = x.shape().last().copied().unwrap_or(0);
    let (layer, mask) = (layer(call, &sizes, inside)?, mask(b, call, &sizes)?);
    let (places, kept, shape) = match wanted {
        RequestedStates::All(kept) => (None, *kept, vec![sizes.batch, sizes.length, sizes.width]),
        RequestedStates::At(places) => (Some(places.clone()), None, vec![sizes.batch, sizes.width]),
    };
    let has = [call.get("b_ih")?.is_some(), places.is_some()];
    let reads = layer.into_iter().chain(mask).chain(places);
    let reads: Vec<View> = reads
        .map(|view| b.contiguous(&view))
        .collect::<Outcome<_>>()?;
    let (dtype, made) = (x.dtype, b.allocate(x.dtype, &shape)?);
    let writes: Vec<&View> = std::iter::once(&made).chain(kept).collect();
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| by_float!(dtype, T => run::<T>((sizes, inside, has), reads, writes, threads)),
    );
    b.step(reads, &writes, kernel)?;
    Ok(made)
}

/// Inputs with their weights and bias, first states and cells, weights of states and their bias.
fn layer(call: &Call<'_>, sizes: &RecurrentSizes, inside: usize) -> Outcome<Vec<View>> {
    let (x, w_ih, b_ih) = (
        call.array("x")?,
        call.array("w_ih")?,
        call.array_if("b_ih")?,
    );
    let rows = sizes.gates() * sizes.width;
    if w_ih.shape() != [rows, inside] || inside == 0 {
        return Err(format!(
            "w_ih: expected ({rows}, {inside}), got {:?}",
            w_ih.shape()
        ));
    }
    if b_ih.as_ref().is_some_and(|bias| bias.shape() != [rows]) {
        return Err(format!("b_ih: expected {rows} numbers"));
    }
    let mut given = vec![x, w_ih];
    given.extend(b_ih);
    given.push(call.array("h0")?);
    if sizes.has_cells {
        given.push(call.array("c0")?);
    }
    given.push(call.array("w_hh")?);
    given.extend(call.array_if("b_hh")?);
    let all: Vec<Option<&View>> = given.iter().map(Some).collect();
    require_one_type(&all)?;
    Ok(given)
}

fn mask(b: &mut Builder, call: &Call<'_>, sizes: &RecurrentSizes) -> Outcome<Option<View>> {
    let Some(mask) = call.array_if("mask")? else {
        return Ok(None);
    };
    if mask.shape() != [sizes.batch, sizes.length] {
        let (expected, found) = ([sizes.batch, sizes.length], mask.shape());
        return Err(format!("mask: expected {expected:?}, got {found:?}"));
    }
    b.cast(&mask, Dtype::Bool).map(Some)
}

/// Runs a layer; a mask is the last but one array that it reads, and places are the last.
fn run<T: Float>(
    (sizes, inside, has): (RecurrentSizes, usize, [bool; 2]),
    reads: &[Read<'_>],
    writes: &mut [Write<'_>],
    threads: usize,
) -> Outcome {
    let mut reads = reads;
    let mut last_if = |is_there| {
        if is_there {
            reads.split_off_last()
        } else {
            None
        }
    };
    let (places, mask) = (last_if(has[1]), last_if(sizes.has[1]));
    let mask = mask.map(Read::booleans).transpose()?;
    let places = places.map(|places| {
        let places = places.slice::<i64>()?.iter();
        let each = places.map(|&place| super::take::position(place, sizes.length, true));
        each.collect::<Outcome<Vec<usize>>>()
    });
    let places = places.transpose()?;
    let mut given = ReadIter::new(reads);
    let inputs = RecurrentInputs::Values {
        values: given.take()?,
        weight: given.take()?,
        bias: given.take_if(has[0])?,
        inside,
    };
    let layer = sizes.layer::<T>(&mut given, mask)?;
    let (outputs, kept) = match writes {
        [states] => (states.slice()?, None),
        [states, kept] => (states.slice()?, Some(kept.slice()?)),
        _ => return Ok(()),
    };
    let outputs = match &places {
        Some(places) => RecurrentOutputs::At(places, outputs),
        None => RecurrentOutputs::All(outputs, kept),
    };
    let threads = seqloom_kernels::worth_waking(threads, sizes.cost());
    forward(&layer, inputs, outputs, threads);
    Ok(())
}
