//! The operations `gru` and `lstm`.

use seqloom_kernels::Float;
use seqloom_kernels::recurrent::{
    self, RecurrentInputs, RecurrentLayer, RecurrentOutputs, forward,
};

use super::{call::Call, windows::require_one_type};
use crate::Dtype;
use crate::memory::{Outcome, Read, ReadIter, Write, by_float};
use crate::plan::{Builder, View};

/// The numbers of sequences, positions and state elements, and the options of the layer.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "all combinations are valid")]
pub(super) struct LayerSizes {
    pub(super) batch: usize,
    pub(super) length: usize,
    pub(super) width: usize,
    pub(super) has_cells: bool,
    pub(super) is_reverse: bool,
    features: usize,
    has_input_bias: bool,
    has_state_bias: bool,
    has_mask: bool,
}

impl LayerSizes {
    fn gate_count(&self) -> usize {
        recurrent::gate_count(self.has_cells)
    }

    /// The number of values per state element that are stored for the gradient.
    fn stored_parts(&self) -> usize {
        recurrent::stored_parts(self.has_cells)
    }

    /// Returns the estimated time on one thread, in nanoseconds.
    fn cost(&self) -> usize {
        let numbers = self.batch.saturating_mul(self.length);
        let numbers = numbers.saturating_mul(self.width);
        numbers.saturating_mul(self.width.saturating_mul(self.gate_count()) / 32 + 10)
    }

    /// Reads the sizes from the arguments. The arrays are: initial states, initial cells,
    /// recurrent weights, recurrent bias.
    fn take_layer<'a, T: Float>(
        &self,
        reads: &mut ReadIter<'_, 'a>,
        mask: Option<&'a [bool]>,
    ) -> Outcome<RecurrentLayer<'a, T>> {
        Ok(RecurrentLayer {
            states: reads.take()?,
            cells: reads.take_optional(self.has_cells)?,
            weight: reads.take()?,
            bias: reads.take_optional(self.has_state_bias)?,
            mask,
            length: self.length,
            width: self.width,
            reverse: self.is_reverse,
        })
    }

    /// Reads the sizes from the arguments, and checks that they match.
    pub(super) fn new(call: &Call<'_>) -> Outcome<Self> {
        let (x, h0) = (call.array("x")?, call.array("h0")?);
        let (&[batch, length, features], &[_, width]) = (x.shape(), h0.shape()) else {
            let (x, h0) = (x.shape(), h0.shape());
            return Err(format!(
                "expected x (batch, length, features) and h0 (batch, width), got {x:?} and {h0:?}"
            ));
        };
        let sizes = Self {
            batch,
            length,
            width,
            features,
            has_cells: call.name() == "lstm",
            is_reverse: call.flag("reverse")?,
            has_input_bias: call.get("b_ih")?.is_some(),
            has_state_bias: call.get("b_hh")?.is_some(),
            has_mask: call.get("mask")?.is_some(),
        };
        if [batch, length, features, width].contains(&0) {
            return Err(format!(
                "expected at least one sequence, position, feature and state, got x {:?} and h0 \
                 {:?}",
                x.shape(),
                h0.shape()
            ));
        }
        sizes.check_shapes(call)?;
        Ok(sizes)
    }

    /// Returns an error if the shape of an array does not match the sizes of the layer.
    fn check_shapes(&self, call: &Call<'_>) -> Outcome {
        let Self {
            batch,
            length,
            width,
            features,
            ..
        } = *self;
        let rows = width.checked_mul(self.gate_count()).unwrap_or(0);
        let expected: [(&str, &[usize]); 7] = [
            ("h0", &[batch, width]),
            ("c0", &[batch, width]),
            ("w_ih", &[rows, features]),
            ("w_hh", &[rows, width]),
            ("b_ih", &[rows]),
            ("b_hh", &[rows]),
            ("mask", &[batch, length]),
        ];
        for (name, expected) in expected {
            let found = call.opt_array(name)?;
            if let Some(found) = found.filter(|found| found.shape() != expected) {
                let found = found.shape();
                return Err(format!("{name}: expected {expected:?}, got {found:?}"));
            }
        }
        Ok(())
    }
}

/// Returns all states, the last state, and the values that the gradient needs; only results
/// that the graph uses are computed.
pub(crate) fn add_recurrent(b: &mut Builder, call: &Call<'_>) -> Outcome<Vec<View>> {
    let sizes = LayerSizes::new(call)?;
    let LayerSizes {
        batch,
        length,
        width,
        ..
    } = sizes;
    let dtype = call.array("x")?.dtype;
    let last = if sizes.is_reverse { 0 } else { length - 1 };
    let kept = b.allocate(dtype, &[batch, length, sizes.stored_parts() * width])?;
    let needs_kept = (2..call.operation.outputs.len()).any(|number| call.is_read(number));
    let (states, last_state) = if needs_kept || call.is_read(0) {
        let states = add_layer(
            b,
            call,
            sizes,
            &OutputStates::All(needs_kept.then_some(&kept)),
        )?;
        let last_state = states.with_layout(states.layout.select(1, last));
        (states, last_state)
    } else {
        let place = super::call::to_float(last.cast_signed() as i64);
        let place = super::create::add_full(b, Dtype::Int64, &[batch], place)?;
        let last_state = add_layer(b, call, sizes, &OutputStates::At(place))?;
        (b.allocate(dtype, &[batch, length, width])?, last_state)
    };
    if !sizes.has_cells {
        return Ok(vec![states, last_state, kept]);
    }
    // The last vector stored for the gradient is the cell state.
    let start = (sizes.stored_parts() - 1) * width;
    let cell = kept.layout.select(1, last).slice(1, start, width, 1);
    Ok(vec![states, last_state, kept.with_layout(cell), kept])
}

/// The states of a recurrent layer that the graph reads.
pub(super) enum OutputStates<'a> {
    /// All states. The array, if given, receives the values that the gradient needs.
    All(Option<&'a View>),
    /// Only the state at one position of each sequence.
    At(View),
}

/// Adds a call of the kernel to the plan and returns the states.
pub(super) fn add_layer(
    b: &mut Builder,
    call: &Call<'_>,
    sizes: LayerSizes,
    wanted: &OutputStates<'_>,
) -> Outcome<View> {
    let dtype = call.array("x")?.dtype;
    let mask = call.opt_array("mask")?;
    let mask = mask.map(|mask| b.cast(&mask, Dtype::Bool)).transpose()?;
    let (places, kept, shape) = match wanted {
        OutputStates::All(kept) => (None, *kept, vec![sizes.batch, sizes.length, sizes.width]),
        OutputStates::At(places) => (Some(places.clone()), None, vec![sizes.batch, sizes.width]),
    };
    let has_places = places.is_some();
    let reads = list_inputs(call, &sizes)?
        .into_iter()
        .chain(mask)
        .chain(places);
    let reads: Vec<View> = reads
        .map(|view| b.contiguous(&view))
        .collect::<Outcome<_>>()?;
    let states = b.allocate(dtype, &shape)?;
    let writes: Vec<&View> = std::iter::once(&states).chain(kept).collect();
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| by_float!(dtype, T => run_layer::<T>(sizes, has_places, reads, writes, threads)),
    );
    b.add_step(reads, &writes, kernel)?;
    Ok(states)
}

/// Lists the inputs of a layer in the order of the kernel.
fn list_inputs(call: &Call<'_>, sizes: &LayerSizes) -> Outcome<Vec<View>> {
    let mut inputs = vec![call.array("x")?, call.array("w_ih")?];
    inputs.extend(call.opt_array("b_ih")?);
    inputs.push(call.array("h0")?);
    if sizes.has_cells {
        inputs.push(call.array("c0")?);
    }
    inputs.push(call.array("w_hh")?);
    inputs.extend(call.opt_array("b_hh")?);
    let all: Vec<Option<&View>> = inputs.iter().map(Some).collect();
    require_one_type(&all)?;
    Ok(inputs)
}

/// Runs a layer. `reads` ends with the optional arrays: the mask, then the positions.
fn run_layer<T: Float>(
    sizes: LayerSizes,
    has_places: bool,
    mut reads: &[Read<'_>],
    writes: &mut [Write<'_>],
    threads: usize,
) -> Outcome {
    let mut last_if = |is_there| {
        if is_there {
            reads.split_off_last()
        } else {
            None
        }
    };
    let (places, mask) = (last_if(has_places), last_if(sizes.has_mask));
    let mask = mask.map(Read::booleans).transpose()?;
    let places = places.map(|places| {
        let places = places.slice::<i64>()?.iter();
        let each = places.map(|&place| super::take::checked_index(place, sizes.length, true));
        each.collect::<Outcome<Vec<usize>>>()
    });
    let places = places.transpose()?;
    let mut reads = ReadIter::new(reads);
    let inputs = RecurrentInputs {
        x: reads.take()?,
        weight: reads.take()?,
        bias: reads.take_optional(sizes.has_input_bias)?,
        features: sizes.features,
    };
    let layer = sizes.take_layer::<T>(&mut reads, mask)?;
    let (outputs, kept) = match writes {
        [states] => (states.slice()?, None),
        [states, kept] => (states.slice()?, Some(kept.slice()?)),
        _ => return Err("a recurrent layer writes one array or two".to_owned()),
    };
    let outputs = match &places {
        Some(places) => RecurrentOutputs::At(places, outputs),
        None => RecurrentOutputs::All(outputs, kept),
    };
    let threads = seqloom_kernels::useful_threads(threads, sizes.cost());
    forward(&layer, inputs, outputs, threads);
    Ok(())
}
