//! A step of Adam with decoupled weight decay (`AdamW`), in one pass over each tensor.

use pulp::Simd;
use seqloom_macros::{compiled_once, vectorized};

use crate::{Float, Instances, lanes::Lanes, machine::dispatch, parallel, tuned};

/// The settings of an `AdamW` step, which are the same for all tensors.
#[derive(Clone, Copy, Debug)]
pub struct AdamwStep {
    /// The learning rate.
    pub rate: f64,
    /// The decay rates of the two moments.
    pub betas: (f64, f64),
    /// A small number that is added to the square root of the second moment.
    pub epsilon: f64,
    /// The number of this step, starting at 1.
    pub number: i32,
}

/// A parameter, its two moments, and its gradient.
#[derive(Debug)]
pub struct AdamwTensor<'a, T> {
    /// The parameter, changed in place.
    pub param: &'a mut [T],
    /// The running mean of the gradient.
    pub first: &'a mut [T],
    /// The running mean of the gradient's square.
    pub second: &'a mut [T],
    /// The gradient.
    pub grad: &'a [T],
    /// The weight decay.
    pub decay: f64,
}

/// Updates parameters and their moments as `torch.optim.AdamW` does.
#[compiled_once]
pub fn adamw<T: Float>(step: AdamwStep, tensors: Vec<AdamwTensor<'_, T>>, threads: usize) {
    if parallel::is_single_threaded(threads) {
        for tensor in tensors {
            update_lines(step, tensor);
        }
    } else {
        // The chunks of all tensors are put in one list, so that threads are woken once
        // and not once per tensor.
        let pieces = tensors.into_iter().flat_map(AdamwTensor::chunks).collect();
        parallel::run_tasks(pieces, threads, |piece| update_lines(step, piece));
    }
}

/// Updates the values before the first cache line boundary, and then the remaining
/// values.
fn update_lines<T: Float>(step: AdamwStep, tensor: AdamwTensor<'_, T>) {
    // Large NumPy arrays begin 16 bytes after the start of a cache line. Vector loads
    // that start at the next cache line never cross a cache line boundary.
    let before = tensor.param.as_ptr().align_offset(tuned::CACHE_LINE);
    let before = before.min(tensor.param.len());
    let (head, rest) = tensor.split_at(before);
    update_tensor(step, head);
    update_tensor(step, rest);
}

impl<T> AdamwTensor<'_, T> {
    /// Splits a tensor into chunks that threads update in parallel.
    fn chunks(mut self) -> Vec<Self> {
        let mut pieces = Vec::new();
        while self.param.len() > tuned::ADAMW_CHUNK {
            let (piece, rest) = self.split_at(tuned::ADAMW_CHUNK);
            pieces.push(piece);
            self = rest;
        }
        pieces.push(self);
        pieces
    }

    /// Splits the arrays of a tensor into the elements before and after an index.
    fn split_at(self, middle: usize) -> (Self, Self) {
        let (param, param_after) = self.param.split_at_mut(middle);
        let (first, first_after) = self.first.split_at_mut(middle);
        let (second, second_after) = self.second.split_at_mut(middle);
        let (grad, grad_after) = self.grad.split_at(middle);
        let decay = self.decay;
        (
            Self {
                param,
                first,
                second,
                grad,
                decay,
            },
            Self {
                param: param_after,
                first: first_after,
                second: second_after,
                grad: grad_after,
                decay,
            },
        )
    }
}

#[vectorized]
fn update_tensor<S: Simd, T: Float>(simd: S, step: AdamwStep, tensor: AdamwTensor<'_, T>) {
    let rule = AdamwLanes::new(simd, step, tensor.decay);
    let (params, param) = T::split_mut::<S>(tensor.param);
    let (firsts, first) = T::split_mut::<S>(tensor.first);
    let (seconds, second) = T::split_mut::<S>(tensor.second);
    let (grads, grad) = T::split::<S>(tensor.grad);
    let states = params.iter_mut().zip(firsts).zip(seconds);
    for (((param, first), second), &grad) in states.zip(grads) {
        let state = [*param, *first, *second].map(|vector| Lanes::new(simd, vector));
        let state = rule.apply(state, Lanes::new(simd, grad));
        [*param, *first, *second] = state.map(|lanes| lanes.vector);
    }
    let state = [&*param, &*first, &*second].map(|slice| Lanes::load_part(simd, slice));
    let [new_param, new_first, new_second] = rule.apply(state, Lanes::load_part(simd, grad));
    new_param.store_part(param);
    new_first.store_part(first);
    new_second.store_part(second);
}

/// The constants of an `AdamW` step, broadcast to all lanes of a vector.
struct AdamwLanes<S: Simd, T: Float> {
    kept: Lanes<S, T>,
    betas: [Lanes<S, T>; 2],
    gains: [Lanes<S, T>; 2],
    size: Lanes<S, T>,
    root: Lanes<S, T>,
    epsilon: Lanes<S, T>,
}

impl<S: Simd, T: Float> AdamwLanes<S, T> {
    #[inline(always)]
    fn new(simd: S, step: AdamwStep, decay: f64) -> Self {
        let splat = |value: f64| Lanes::splat(simd, T::from_f64(value));
        let (beta_1, beta_2) = step.betas;
        let correction = 1.0 - beta_1.powi(step.number);
        Self {
            kept: splat(1.0 - step.rate * decay),
            betas: [splat(beta_1), splat(beta_2)],
            gains: [splat(1.0 - beta_1), splat(1.0 - beta_2)],
            size: splat(-step.rate / correction),
            root: splat((1.0 - beta_2.powi(step.number)).sqrt().recip()),
            epsilon: splat(step.epsilon),
        }
    }

    #[inline(always)]
    fn apply(
        &self,
        [param, first, second]: [Lanes<S, T>; 3],
        grad: Lanes<S, T>,
    ) -> [Lanes<S, T>; 3] {
        let first = first.mul_add(self.betas[0], grad * self.gains[0]);
        let second = second.mul_add(self.betas[1], grad * grad * self.gains[1]);
        let spread = second.sqrt().mul_add(self.root, self.epsilon);
        let param = (first / spread).mul_add(self.size, param * self.kept);
        [param, first, second]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn the_first_adamw_step_equals_the_learning_rate() {
        let step = AdamwStep {
            rate: 0.1,
            betas: (0.9, 0.999),
            epsilon: 0.0,
            number: 1,
        };
        run_on_every_machine(|_| {
            let mut arrays = [vec![2.0_f64; 21], vec![0.0; 21], vec![0.0; 21]];
            let [param, first, second] = &mut arrays;
            adamw(
                step,
                vec![AdamwTensor {
                    param,
                    first,
                    second,
                    grad: &[5.0; 21],
                    decay: 0.5,
                }],
                1,
            );
            // In this test, the weight decay subtracts 0.1 * 0.5 of the parameter, and
            // the step subtracts 0.1.
            assert!(arrays[0].iter().all(|&param| (param - 1.8).abs() < 1e-12));
            assert!(arrays[1].iter().all(|&first| (first - 0.5).abs() < 1e-12));
            assert!(
                arrays[2]
                    .iter()
                    .all(|&second| (second - 0.025).abs() < 1e-12)
            );
        });
    }
}
