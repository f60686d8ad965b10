//! Bindings of `seqloom_kernels::adamw`.

use numpy::{PyReadonlyArrayDyn, PyReadwriteArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};
use seqloom_kernels::Float;
use seqloom_kernels::adamw::{self as kernel, AdamwStep, AdamwTensor};
use seqloom_macros::python_export;

use super::floats::{Floats, Width};
use crate::pool;

/// Updates parameters and their moments in place, as one step of `torch.optim.AdamW`.
#[python_export]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 passes lists by value")]
pub(crate) fn adamw(
    py: Python<'_>,
    params: Vec<Floats<'_>>,
    grads: Vec<Floats<'_>>,
    first: Vec<Floats<'_>>,
    second: Vec<Floats<'_>>,
    lr: f64,
    beta1: f64,
    beta2: f64,
    eps: f64,
    decays: Vec<f64>,
    step: i32,
    threads: usize,
) -> PyResult<()> {
    let counts = [grads.len(), first.len(), second.len(), decays.len()];
    if counts != [params.len(); 4] {
        let message = format!(
            "adamw: expected {} grads, first, second and decays, got {counts:?}",
            params.len()
        );
        return Err(PyValueError::new_err(message));
    }
    let step = AdamwStep {
        rate: lr,
        betas: (beta1, beta2),
        epsilon: eps,
        number: step,
    };
    let (mut singles, mut doubles) = (Vec::new(), Vec::new());
    for (index, param) in params.iter().enumerate() {
        let arrays = [param, &first[index], &second[index], &grads[index]];
        match param.width() {
            Width::Single => singles.push(ParameterArrays::<f32>::borrow(arrays, decays[index])?),
            Width::Double => doubles.push(ParameterArrays::<f64>::borrow(arrays, decays[index])?),
        }
    }
    update_all(py, step, &mut singles, threads)?;
    update_all(py, step, &mut doubles, threads)
}

/// Updates all parameters of one float type with one call of the kernel.
fn update_all<T: numpy::Element + Float>(
    py: Python<'_>,
    step: AdamwStep,
    slots: &mut [ParameterArrays<'_, T>],
    threads: usize,
) -> PyResult<()> {
    let tensors = slots.iter_mut().map(ParameterArrays::tensor);
    let tensors = tensors.collect::<PyResult<Vec<_>>>()?;
    let count: usize = tensors.iter().map(|tensor| tensor.param.len()).sum();
    let threads = seqloom_kernels::useful_threads(threads, count / 2);
    pool::run_kernel(py, threads, || kernel::adamw(step, tensors, threads))
}

/// The four arrays of a parameter, borrowed during the update.
struct ParameterArrays<'py, T: numpy::Element> {
    changed: [PyReadwriteArrayDyn<'py, T>; 3],
    grad: PyReadonlyArrayDyn<'py, T>,
    decay: f64,
}

impl<'py, T: numpy::Element + Float> ParameterArrays<'py, T> {
    fn borrow([param, first, second, grad]: [&Floats<'py>; 4], decay: f64) -> PyResult<Self> {
        let shape = param.shape();
        let changed = [
            param.write("params", shape)?,
            first.write("first", shape)?,
            second.write("second", shape)?,
        ];
        Ok(Self {
            changed,
            grad: grad.read("grads", shape)?,
            decay,
        })
    }

    fn tensor(&mut self) -> PyResult<AdamwTensor<'_, T>> {
        let [param, first, second] = &mut self.changed;
        Ok(AdamwTensor {
            param: param.as_slice_mut()?,
            first: first.as_slice_mut()?,
            second: second.as_slice_mut()?,
            grad: self.grad.as_slice()?,
            decay: self.decay,
        })
    }
}
