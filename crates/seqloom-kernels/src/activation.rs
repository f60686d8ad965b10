//! Activation functions (relu, gelu, sigmoid, silu) and their derivatives.

use pulp::Simd;
use seqloom_macros::compiled_once;

use crate::lanes::Lanes;
use crate::map::{self, BinaryOp, UnaryOp};
use crate::{Float, Instances, special};

/// Fills `out` with `max(x, 0)`; the result for NaN is NaN.
#[compiled_once]
pub fn relu<T: Float>(x: &[T], out: &mut [T], threads: usize) {
    map::map_unary(Relu, x, out, threads);
}

/// Fills `out` with the input gradient of relu: 0 where the output of relu is 0, and
/// the output gradient elsewhere, also for NaN.
#[compiled_once]
pub fn relu_grad<T: Float>(grad: &[T], output: &[T], out: &mut [T], threads: usize) {
    map::map_binary(ReluGrad, grad, output, out, threads);
}

/// Fills `out` with `x * P(normal <= x)`: the exact gelu, not the tanh approximation.
#[compiled_once]
pub fn gelu<T: Float>(x: &[T], out: &mut [T], threads: usize) {
    map::map_unary(Gelu, x, out, threads);
}

/// Applies gelu to each value in place.
pub(crate) fn apply_gelu<T: Float>(values: &mut [T]) {
    map::map_in_place(Gelu, values);
}

/// Fills `out` with the input gradient of gelu: the output gradient times the
/// derivative of gelu at x.
#[compiled_once]
pub fn gelu_grad<T: Float>(grad: &[T], x: &[T], out: &mut [T], threads: usize) {
    map::map_binary(GeluGrad, grad, x, out, threads);
}

/// Fills `out` with `1 / (1 + exp(-x))`.
#[compiled_once]
pub fn sigmoid<T: Float>(x: &[T], out: &mut [T], threads: usize) {
    map::map_unary(Sigmoid, x, out, threads);
}

/// Fills `out` with `x / (1 + exp(-x))`.
#[compiled_once]
pub fn silu<T: Float>(x: &[T], out: &mut [T], threads: usize) {
    map::map_unary(Silu, x, out, threads);
}

/// Fills `out` with the input gradient of sigmoid: the output gradient times `output *
/// (1 - output)`.
#[compiled_once]
pub fn sigmoid_grad<T: Float>(grad: &[T], output: &[T], out: &mut [T], threads: usize) {
    map::map_binary(SigmoidGrad, grad, output, out, threads);
}

#[derive(Clone, Copy)]
struct Relu;

impl<T: Float> UnaryOp<T> for Relu {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
        let zero = x.like(T::ZERO);
        x.if_less(zero, zero, x)
    }
}

#[derive(Clone, Copy)]
struct ReluGrad;

impl<T: Float> BinaryOp<T> for ReluGrad {
    #[inline(always)]
    fn apply<S: Simd>(self, grad: Lanes<S, T>, output: Lanes<S, T>) -> Lanes<S, T> {
        let zero = grad.like(T::ZERO);
        let unless_nan = output.if_less(grad.like(T::ONE), zero, grad);
        zero.if_less(output, grad, unless_nan)
    }
}

#[derive(Clone, Copy)]
struct Gelu;

impl<T: Float> UnaryOp<T> for Gelu {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
        x * special::normal_cdf(x).0
    }
}

#[derive(Clone, Copy)]
struct GeluGrad;

impl<T: Float> BinaryOp<T> for GeluGrad {
    #[inline(always)]
    fn apply<S: Simd>(self, grad: Lanes<S, T>, x: Lanes<S, T>) -> Lanes<S, T> {
        let (below, bell) = special::normal_cdf(x);
        let density = bell * x.like(T::from_f64(0.398_942_280_401_432_7));
        grad * x.mul_add(density, below)
    }
}

#[derive(Clone, Copy)]
struct Sigmoid;

impl<T: Float> UnaryOp<T> for Sigmoid {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
        special::sigmoid(x)
    }
}

#[derive(Clone, Copy)]
struct Silu;

impl<T: Float> UnaryOp<T> for Silu {
    #[inline(always)]
    fn apply<S: Simd>(self, x: Lanes<S, T>) -> Lanes<S, T> {
        x / (x.like(T::ONE) + special::exp(x.like(T::ZERO) - x))
    }
}

#[derive(Clone, Copy)]
struct SigmoidGrad;

impl<T: Float> BinaryOp<T> for SigmoidGrad {
    #[inline(always)]
    fn apply<S: Simd>(self, grad: Lanes<S, T>, output: Lanes<S, T>) -> Lanes<S, T> {
        grad * output * (output.like(T::ONE) - output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::run_on_every_machine;

    #[test]
    fn activations_fill_outputs_of_every_length() {
        run_on_every_machine(|_| {
            for length in 0..70 {
                let x = vec![-1.5_f32; length];
                let mut out = vec![f32::NAN; length];
                relu_grad(&x, &vec![1.0; length], &mut out, 1);
                assert_eq!(out, x);
            }
        });
    }

    #[test]
    fn relu_passes_the_gradient_at_nan() {
        run_on_every_machine(|_| {
            let mut out = [0.0; 4];
            relu_grad(&[3.0; 4], &[f64::NAN, 0.0, 2.0, 1e-320], &mut out, 1);
            assert_eq!(
                out.map(f64::to_bits),
                [3.0, 0.0, 3.0, 3.0].map(f64::to_bits)
            );
        });
    }

    #[test]
    fn relu_of_nan_is_nan() {
        run_on_every_machine(|_| {
            let mut out = [0.0; 3];
            relu(&[f64::NAN, -1.0, 2.0], &mut out, 1);
            assert!(out[0].is_nan());
            assert_eq!(out[1..], [0.0, 2.0]);
        });
    }
}
