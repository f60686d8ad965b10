use proptest::prelude::*;

use super::{Shape, forward, input_grad, weight_grad};
use crate::Float;
use crate::machine::tests::on_every_machine;

/// Small shapes of every kind; those whose filter does not fit are left out.
fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (0..4_usize, 1..6_usize, 1..70_usize, 1..20_usize, 1..8_usize);
    let steps = (1..4_usize, 0..6_usize, 1..4_usize);
    (sizes, steps)
        .prop_map(
            |((batch, channels, length, outputs, kernel), (stride, padding, dilation))| Shape {
                batch,
                channels,
                length,
                outputs,
                kernel,
                stride,
                padding,
                dilation,
            },
        )
        .prop_filter("the filter fits", |shape| shape.out_length().is_some())
}

/// Numbers between -1 and 1 without an order.
fn numbers<T: Float>(count: usize, seed: u32) -> Vec<T> {
    let word = |index: u32| (index ^ seed).wrapping_mul(2_654_435_761).rotate_left(13);
    let number = |index| f64::from(word(index).wrapping_mul(2_246_822_519)) / 2_f64.powi(31) - 1.0;
    (0..count)
        .map(|index| T::of(number(u32::try_from(index).unwrap())))
        .collect()
}

/// All that a convolution and its derivatives are made of.
struct Case<T> {
    x: Vec<T>,
    weight: Vec<T>,
    bias: Vec<T>,
    grad: Vec<T>,
}

impl<T: Float> Case<T> {
    fn new(s: &Shape) -> Self {
        Self {
            x: numbers(s.batch * s.channels * s.length, 1),
            weight: numbers(s.outputs * s.channels * s.kernel, 2),
            bias: numbers(s.outputs, 3),
            grad: numbers(s.batch * s.outputs * s.out_length().unwrap(), 4),
        }
    }
}

/// Calls `visit(output, weight, input)` with the positions of every product of the sum.
fn products(s: &Shape, mut visit: impl FnMut(usize, usize, usize)) {
    let width = s.out_length().unwrap();
    for out in 0..s.batch * s.outputs * width {
        let (row, place) = (out / width, out % width);
        let (sample, output) = (row / s.outputs, row % s.outputs);
        for tap in 0..s.channels * s.kernel {
            let (channel, step) = (tap / s.kernel, tap % s.kernel);
            let at = (place * s.stride + step * s.dilation).checked_sub(s.padding);
            if let Some(at) = at.filter(|&at| at < s.length) {
                let weight = output * s.channels * s.kernel + tap;
                visit(out, weight, (sample * s.channels + channel) * s.length + at);
            }
        }
    }
}

fn assert_close<T: Float>(found: &[T], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let error = (found.wide() - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "{found:?} is not {expected}"
        );
    }
}

fn check_forward<T: Float>(s: &Shape, tolerance: f64) {
    let case = Case::<T>::new(s);
    let width = s.out_length().unwrap();
    let bias = |out: usize| case.bias[out / width % s.outputs].wide();
    let mut expected: Vec<f64> = (0..case.grad.len()).map(bias).collect();
    products(s, |o, w, i| {
        expected[o] += case.weight[w].wide() * case.x[i].wide();
    });
    let mut out = vec![T::of(f64::NAN); case.grad.len()];
    forward(s, (&case.x, &case.weight), Some(&case.bias), &mut out, 1);
    assert_close(&out, &expected, tolerance);
}

fn check_input_grad<T: Float>(s: &Shape, tolerance: f64) {
    let case = Case::<T>::new(s);
    let mut expected = vec![0.0; case.x.len()];
    products(s, |o, w, i| {
        expected[i] += case.weight[w].wide() * case.grad[o].wide();
    });
    let mut out = vec![T::of(f64::NAN); case.x.len()];
    input_grad(s, &case.grad, &case.weight, &mut out, 1);
    assert_close(&out, &expected, tolerance);
}

fn check_weight_grad<T: Float>(s: &Shape, tolerance: f64) {
    let case = Case::<T>::new(s);
    let mut expected = vec![0.0; case.weight.len()];
    products(s, |o, w, i| {
        expected[w] += case.x[i].wide() * case.grad[o].wide();
    });
    let mut bias = vec![0.0; s.outputs];
    for (index, grad) in case.grad.iter().enumerate() {
        bias[index / s.out_length().unwrap() % s.outputs] += grad.wide();
    }
    let mut outs = (
        vec![T::of(f64::NAN); expected.len()],
        vec![T::of(f64::NAN); bias.len()],
    );
    weight_grad(s, (&case.x, &case.grad), &mut outs.0, Some(&mut outs.1), 1);
    assert_close(&outs.0, &expected, tolerance);
    assert_close(&outs.1, &bias, tolerance);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn convolves_as_the_definition_says(shape in shapes()) {
        on_every_machine(|_| {
            check_forward::<f32>(&shape, 1e-5);
            check_forward::<f64>(&shape, 1e-14);
        });
    }

    #[test]
    fn the_input_s_gradient_is_the_definition_s(shape in shapes()) {
        on_every_machine(|_| {
            check_input_grad::<f32>(&shape, 1e-5);
            check_input_grad::<f64>(&shape, 1e-14);
        });
    }

    #[test]
    fn the_weights_gradient_is_the_definition_s(shape in shapes()) {
        on_every_machine(|_| {
            check_weight_grad::<f32>(&shape, 1e-5);
            check_weight_grad::<f64>(&shape, 1e-14);
        });
    }
}

#[test]
fn rows_longer_than_a_tile_join_without_a_seam() {
    let shape = Shape {
        batch: 2,
        channels: 40,
        length: 700,
        outputs: 14,
        kernel: 5,
        stride: 1,
        padding: 2,
        dilation: 1,
    };
    on_every_machine(|_| {
        check_forward::<f32>(&shape, 1e-5);
        check_input_grad::<f32>(&shape, 1e-5);
        check_weight_grad::<f32>(&shape, 1e-5);
    });
}
