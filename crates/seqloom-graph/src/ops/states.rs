//! Recurrent layers that return only one state per sequence.

use super::call::Call;
use super::recurrent::{LayerSizes, OutputStates, add_layer};
use crate::Dtype;
use crate::memory::Outcome;
use crate::plan::{Builder, View};

/// Adds a step that computes one state per sequence, for one layer or for layers whose
/// states are concatenated. Returns `None` if only some elements of a state are read.
pub(crate) fn read_states(
    b: &mut Builder,
    reader: &Call<'_>,
    layers: &[Call<'_>],
) -> Outcome<Option<View>> {
    let all: Vec<LayerSizes> = layers.iter().map(LayerSizes::new).collect::<Outcome<_>>()?;
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let width = all.iter().map(|sizes| sizes.width).sum();
    let is_one = all
        .iter()
        .all(|it| (it.batch, it.length) == (first.batch, first.length));
    let Some(places) = read_positions(b, reader, first, width)?.filter(|_| is_one) else {
        return Ok(None);
    };
    let mut found = Vec::with_capacity(layers.len());
    for (call, size) in layers.iter().zip(all) {
        found.push(add_layer(b, call, size, &OutputStates::At(places.clone()))?);
    }
    let found = match &found[..] {
        [one] => one.clone(),
        several => super::join::concatenate(b, several, 1)?,
    };
    let keeps_axis = reader.name() == "take_along_axis";
    let layout = found.layout.unsqueezed(1);
    Ok(Some(if keeps_axis {
        found.with_layout(layout)
    } else {
        found
    }))
}

/// Returns the position that is read in each sequence, if all elements of a state are read
/// at the same position.
fn read_positions(
    b: &mut Builder,
    reader: &Call<'_>,
    sizes: &LayerSizes,
    width: usize,
) -> Outcome<Option<View>> {
    if let Some(place) = crate::reads::single_index(reader.operation) {
        let place = super::take::checked_index(place, sizes.length, true)?;
        let place = super::call::to_float(place.cast_signed() as i64);
        return super::create::add_full(b, Dtype::Int64, &[sizes.batch], place).map(Some);
    }
    let places = reader.array("indices")?;
    super::take::require_ints(&places)?;
    let is_one =
        places.shape() == [sizes.batch, 1, width] && (width == 1 || places.layout.strides[2] == 0);
    if !is_one {
        return Ok(None);
    }
    let places = places.with_layout(places.layout.select(2, 0).select(1, 0));
    let places = b.cast(&places, Dtype::Int64)?;
    b.contiguous(&places).map(Some)
}
