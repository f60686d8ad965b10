//! Recurrent layers of which the states are wanted, and nothing for a gradient.

use seqloom_kernels::Float;
use seqloom_kernels::recurrent::{Gru, Inputs, Lstm, Wanted, infer};

use super::call::Call;
use super::recurrent::{Sizes, mask, masked, state_arrays};
use super::windows::require_one_type;
use crate::Dtype;
use crate::memory::{Outcome, Read, Taken, Write, by_float};
use crate::plan::{Builder, Item};

/// One state of each sequence, of layers whose states are joined; none where not all numbers
/// of a state are read.
pub(crate) fn read(
    b: &mut Builder,
    reader: &Call<'_>,
    layers: &[Call<'_>],
) -> Outcome<Option<Item>> {
    let all: Vec<Sizes> = layers.iter().map(Sizes::of).collect::<Outcome<_>>()?;
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let width = all.iter().map(|sizes| sizes.width).sum();
    let is_one = all
        .iter()
        .all(|it| (it.batch, it.length) == (first.batch, first.length));
    let Some(places) = places(b, reader, first, width)?.filter(|_| is_one) else {
        return Ok(None);
    };
    let mut found = Vec::with_capacity(layers.len());
    for (call, sizes) in layers.iter().zip(all) {
        found.push(inferred(b, call, sizes, Some(places.clone()))?);
    }
    let found = match &found[..] {
        [one] => one.clone(),
        several => super::join::joined(b, several, 1)?,
    };
    let keeps_axis = reader.name() == "take_along_axis";
    let layout = found.layout.widened(1);
    Ok(Some(if keeps_axis {
        found.seen(layout)
    } else {
        found
    }))
}

/// The place that is read in each sequence, where it is one for all numbers of a state.
fn places(
    b: &mut Builder,
    reader: &Call<'_>,
    sizes: &Sizes,
    width: usize,
) -> Outcome<Option<Item>> {
    if let Some(place) = crate::reads::place(reader.operation) {
        let place = super::take::position(place, sizes.length, true)?;
        let place = super::call::to_float(place.cast_signed() as i64);
        return super::create::fill(b, Dtype::Int64, &[sizes.batch], place).map(Some);
    }
    let places = reader.array("indices")?;
    super::take::require_whole(&places)?;
    let is_one =
        places.shape() == [sizes.batch, 1, width] && (width == 1 || places.layout.strides[2] == 0);
    if !is_one {
        return Ok(None);
    }
    let places = places.seen(places.layout.at(2, 0).at(1, 0));
    let places = b.cast(&places, Dtype::Int64)?;
    b.plain(&places).map(Some)
}

/// The states that are wanted: all, or that at one place of each sequence.
pub(super) fn inferred(
    b: &mut Builder,
    call: &Call<'_>,
    sizes: Sizes,
    places: Option<Item>,
) -> Outcome<Item> {
    let x = call.array("x")?;
    let inside = x.shape().last().copied().unwrap_or(0);
    let layer = layer(call, &sizes, inside)?;
    let has = [call.get("b_ih")?.is_some(), places.is_some()];
    let reads = layer
        .into_iter()
        .chain(mask(b, call, &sizes)?)
        .chain(places);
    let reads: Vec<Item> = reads.map(|item| b.plain(&item)).collect::<Outcome<_>>()?;
    let (batch, width) = (sizes.batch, sizes.width);
    let shape = if has[1] {
        vec![batch, width]
    } else {
        vec![batch, sizes.length, width]
    };
    let (dtype, made) = (x.dtype, b.room(x.dtype, &shape)?);
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let [write] = writes else { return Ok(()) };
            by_float!(dtype, T => infer_states::<T>((sizes, inside, has), reads, write, threads))
        },
    );
    b.step(reads, &[&made], kernel)?;
    Ok(made)
}

/// Inputs with their weights and bias, first states and cells, weights of states and their bias.
fn layer(call: &Call<'_>, sizes: &Sizes, inside: usize) -> Outcome<Vec<Item>> {
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
    given.extend(state_arrays(call, sizes)?);
    let all: Vec<Option<&Item>> = given.iter().map(Some).collect();
    require_one_type(&all)?;
    Ok(given)
}

fn infer_states<T: Float>(
    (sizes, inside, has): (Sizes, usize, [bool; 2]),
    reads: &[Read<'_>],
    write: &mut Write<'_>,
    threads: usize,
) -> Outcome {
    let (places, reads) = match reads.split_last() {
        Some((places, reads)) if has[1] => (Some(places.plain::<i64>()?), reads),
        _ => (None, reads),
    };
    let (mask, reads) = masked(&sizes, reads)?;
    let mut given = Taken::new(reads);
    let (values, weight) = (given.take::<T>()?, given.take()?);
    let bias = given.take_if(has[0])?;
    let layer = sizes.layer(&mut given, mask)?;
    let inputs = Inputs {
        values,
        weight,
        bias,
        bias_of_states: given.take_if(sizes.has[0])?,
        inside,
    };
    let places = places.map(|places| {
        let places = places.iter();
        let each = places.map(|&place| super::take::position(place, sizes.length, true));
        each.collect::<Outcome<Vec<usize>>>()
    });
    let places = places.transpose()?;
    let wanted = match &places {
        Some(places) => Wanted::At(places, write.plain()?),
        None => Wanted::All(write.plain()?),
    };
    let threads = seqloom_kernels::worth_waking(threads, sizes.cost());
    if sizes.has_cells {
        infer(Lstm, &layer, &inputs, wanted, threads);
    } else {
        infer(Gru, &layer, &inputs, wanted, threads);
    }
    Ok(())
}
