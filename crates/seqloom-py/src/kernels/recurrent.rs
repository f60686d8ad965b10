//! Bindings of `seqloom_kernels::recurrent`.

use numpy::{Element, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::Float;
use seqloom_kernels::recurrent::{
    self as kernel, RecurrentGrads, RecurrentInputs, RecurrentLayer, RecurrentOutputs,
    RecurrentResults, backward, forward,
};
use seqloom_macros::python_export;

use super::booleans::Booleans;
use super::floats::{self, Floats, by_dtype};
use crate::pool;

/// Fills the states (n, l, w) of a GRU, and the values that its gradient needs (n, l, 4
/// w). `x` (n, l, f) are the inputs, with `weight_in` (3 w, f) and `bias_in` (3 w);
/// `first` (n, w) are the initial states. With `cells` (n, w), the layer is an LSTM,
/// whose weights have 4 w rows instead of 3 w. For an LSTM, the stored values (n, l, 5
/// w) end with the cell states. Positions that the mask (n, l) hides do not change the
/// state.
#[python_export]
pub(crate) fn recurrent(
    py: Python<'_>,
    x: Floats<'_>,
    weight_in: Floats<'_>,
    bias_in: Option<Floats<'_>>,
    first: Floats<'_>,
    cells: Option<Floats<'_>>,
    weight: Floats<'_>,
    bias: Option<Floats<'_>>,
    mask: Option<Booleans<'_>>,
    reverse: bool,
    out_states: Floats<'_>,
    out_kept: Floats<'_>,
    threads: usize,
) -> PyResult<()> {
    let sizes = RecurrentSizes::new(&out_states, cells.is_some())?;
    let threads = seqloom_kernels::useful_threads(threads, sizes.cost());
    let [_, _, features] = x.axes("x")?;
    let columns = sizes.gates * sizes.width;
    by_dtype!(x, T => {
        let arrays = RecurrentArrays::<T>::new(&sizes, &first, cells.as_ref(), &weight, mask.as_ref())?;
        let bias = floats::read_opt::<T>(bias.as_ref(), "bias", &[columns])?;
        let layer = RecurrentLayer { bias: floats::slice_opt(bias.as_ref())?, ..arrays.layer(&sizes, reverse)? };
        let x = x.read::<T>("x", &[sizes.batch, sizes.length, features])?;
        let weight_in = weight_in.read::<T>("weight_in", &[columns, features])?;
        let bias_in = floats::read_opt::<T>(bias_in.as_ref(), "bias_in", &[columns])?;
        let mut states = out_states.write::<T>("out_states", &sizes.shape(1))?;
        let mut kept = out_kept.write::<T>("out_kept", &sizes.shape(sizes.kept))?;
        let inputs = RecurrentInputs {
            x: x.as_slice()?,
            weight: weight_in.as_slice()?,
            bias: floats::slice_opt(bias_in.as_ref())?,
            features,
        };
        let outputs = RecurrentOutputs::All(states.as_slice_mut()?, Some(kept.as_slice_mut()?));
        pool::run_kernel(py, threads, || forward(&layer, inputs, outputs, threads))
    })
}

/// Fills the gradients of the input part of the gates of `recurrent` and, for a GRU, of
/// the recurrent part. The function also fills the gradients of the initial states and
/// cells (n, w). On entry, the arrays of the initial states and cells must contain the
/// gradients of the final states and cells.
#[python_export]
pub(crate) fn recurrent_grad(
    py: Python<'_>,
    grad: Floats<'_>,
    states: Floats<'_>,
    kept: Floats<'_>,
    first: Floats<'_>,
    cells: Option<Floats<'_>>,
    weight: Floats<'_>,
    mask: Option<Booleans<'_>>,
    reverse: bool,
    out_seen: Floats<'_>,
    out_recurrent: Option<Floats<'_>>,
    out_first: Floats<'_>,
    out_cells: Option<Floats<'_>>,
    threads: usize,
) -> PyResult<()> {
    let sizes = RecurrentSizes::new(&states, cells.is_some())?;
    if out_cells.is_some() != sizes.has_cells || out_recurrent.is_some() == sizes.has_cells {
        let message = "a GRU needs out_recurrent, and an LSTM needs out_cells";
        return Err(PyValueError::new_err(message));
    }
    let threads = seqloom_kernels::useful_threads(threads, sizes.cost());
    by_dtype!(grad, T => {
        let arrays = RecurrentArrays::<T>::new(&sizes, &first, cells.as_ref(), &weight, mask.as_ref())?;
        let layer = arrays.layer(&sizes, reverse)?;
        let grad = grad.read::<T>("grad", &sizes.shape(1))?;
        let states = states.read::<T>("states", &sizes.shape(1))?;
        let kept = kept.read::<T>("kept", &sizes.shape(sizes.kept))?;
        let answers = RecurrentResults { grad: grad.as_slice()?, states: states.as_slice()?, kept: kept.as_slice()? };
        let mut seen = out_seen.write::<T>("out_seen", &sizes.shape(sizes.gates))?;
        let mut recurrent = floats::write_opt::<T>(out_recurrent.as_ref(), "out_recurrent", &sizes.shape(sizes.gates))?;
        let mut by_first = out_first.write::<T>("out_first", &sizes.states())?;
        let mut by_cells = floats::write_opt::<T>(out_cells.as_ref(), "out_cells", &sizes.states())?;
        let grads = RecurrentGrads {
            from_inputs: seen.as_slice_mut()?,
            recurrent: match &mut recurrent { Some(array) => array.as_slice_mut()?, None => &mut [] },
            states: by_first.as_slice_mut()?,
            cells: match &mut by_cells { Some(array) => array.as_slice_mut()?, None => &mut [] },
        };
        pool::run_kernel(py, threads, || backward(&layer, &answers, grads, threads))
    })
}

/// The sizes of a recurrent layer, all above 0.
struct RecurrentSizes {
    batch: usize,
    length: usize,
    width: usize,
    gates: usize,
    kept: usize,
    has_cells: bool,
}

impl RecurrentSizes {
    fn new(states: &Floats<'_>, has_cells: bool) -> PyResult<Self> {
        let [batch, length, width] = states.axes("states")?;
        if batch * length * width == 0 {
            let message = format!("states: expected sizes above 0, got {batch}, {length}, {width}");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            batch,
            length,
            width,
            gates: kernel::gate_count(has_cells),
            kept: kernel::stored_parts(has_cells),
            has_cells,
        })
    }

    /// Returns the shape of an array with `parts` vectors at each position, each as
    /// wide as the state.
    fn shape(&self, parts: usize) -> [usize; 3] {
        [self.batch, self.length, parts * self.width]
    }

    fn states(&self) -> [usize; 2] {
        [self.batch, self.width]
    }

    /// Returns the estimated time of one thread in nanoseconds.
    fn cost(&self) -> usize {
        self.batch * self.length * self.width * (self.width * self.gates / 32 + 10)
    }
}

/// The borrowed inputs of a layer.
struct RecurrentArrays<'py, T: Element> {
    first: PyReadonlyArrayDyn<'py, T>,
    cells: Option<PyReadonlyArrayDyn<'py, T>>,
    weight: PyReadonlyArrayDyn<'py, T>,
    mask: Option<PyReadonlyArrayDyn<'py, bool>>,
}

impl<'py, T: Element + Float> RecurrentArrays<'py, T> {
    fn new(
        sizes: &RecurrentSizes,
        first: &Floats<'py>,
        cells: Option<&Floats<'py>>,
        weight: &Floats<'py>,
        mask: Option<&Booleans<'py>>,
    ) -> PyResult<Self> {
        let rows = sizes.gates * sizes.width;
        Ok(Self {
            first: first.read("first", &sizes.states())?,
            cells: floats::read_opt(cells, "cells", &sizes.states())?,
            weight: weight.read("weight", &[rows, sizes.width])?,
            mask: mask.map(|mask| mask.read("mask")).transpose()?,
        })
    }

    fn layer(&self, sizes: &RecurrentSizes, reverse: bool) -> PyResult<RecurrentLayer<'_, T>> {
        let mask = self.mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
        if mask.is_some_and(|mask| mask.len() != sizes.batch * sizes.length) {
            return Err(PyValueError::new_err(
                "mask: expected one value for each position",
            ));
        }
        Ok(RecurrentLayer {
            states: self.first.as_slice()?,
            cells: floats::slice_opt(self.cells.as_ref())?,
            weight: self.weight.as_slice()?,
            bias: None,
            mask,
            length: sizes.length,
            width: sizes.width,
            reverse,
        })
    }
}
