use proptest::prelude::*;

use super::{Shape, forward, input_grad, weight_grad};
use crate::Float;
use crate::machine::tests::run_on_every_machine;
use crate::product::tests::random_numbers;

/// Returns many small shapes of convolutions, in which no filter is larger than the
/// padded input.
fn conv_shapes() -> impl Strategy<Value = Shape> {
    let counts = (0..4_usize, 1..4_usize, 1..6_usize, 1..3_usize);
    let pair = |range: std::ops::Range<usize>| [range.clone(), range];
    let sizes = ([1..12_usize, 1..40], pair(1..4));
    let steps = (pair(1..4), pair(0..4), pair(1..3));
    (counts, sizes, steps)
        .prop_map(|(counts, (size, kernel), (stride, padding, dilation))| {
            let (batch, channels, outputs, groups) = counts;
            Shape {
                batch,
                channels: channels * groups,
                size,
                outputs: outputs * groups,
                kernel,
                stride,
                padding,
                dilation,
                groups,
            }
        })
        .prop_filter("the filter fits", |shape| shape.out_size().is_some())
}

/// Returns shapes of convolutions along one axis.
fn conv_shapes_1d() -> impl Strategy<Value = Shape> {
    let sizes = (0..4_usize, 1..6_usize, 1..70_usize, 1..20_usize, 1..8_usize);
    let steps = (1..4_usize, 0..6_usize, 1..4_usize);
    (sizes, steps)
        .prop_map(
            |((batch, channels, length, outputs, kernel), (stride, padding, dilation))| Shape {
                batch,
                channels,
                size: [1, length],
                outputs,
                kernel: [1, kernel],
                stride: [1, stride],
                padding: [0, padding],
                dilation: [1, dilation],
                groups: 1,
            },
        )
        .prop_filter("the filter fits", |shape| shape.out_size().is_some())
}

/// The arrays of a convolution and of its gradients.
struct ConvArrays<T> {
    x: Vec<T>,
    weight: Vec<T>,
    bias: Vec<T>,
    grad: Vec<T>,
}

impl<T: Float> ConvArrays<T> {
    fn new(s: &Shape) -> Self {
        Self {
            x: random_numbers(s.batch * s.channels * s.plane_size(), 1),
            weight: random_numbers(s.outputs * s.taps(), 2),
            bias: random_numbers(s.outputs, 3),
            grad: random_numbers(s.batch * s.outputs * s.positions(), 4),
        }
    }
}

/// Returns the position that a tap of a window reads along an axis, or `None` if the
/// position is in the padding.
fn input_position(s: &Shape, axis: usize, window: usize, tap: usize) -> Option<usize> {
    let position = window * s.stride[axis] + tap * s.dilation[axis];
    position
        .checked_sub(s.padding[axis])
        .filter(|&position| position < s.size[axis])
}

/// Calls `visit(output, weight, input)` with the indices of every product of the
/// convolution.
fn visit_products(s: &Shape, mut visit: impl FnMut(usize, usize, usize)) {
    let [_, width] = s.out_size().unwrap();
    for out in 0..s.batch * s.outputs * s.positions() {
        let (row, window) = (out / s.positions(), out % s.positions());
        let (sample, output) = (row / s.outputs, row % s.outputs);
        for tap in 0..s.taps() {
            let (rest, x) = (tap / s.kernel[1], tap % s.kernel[1]);
            let (channel, y) = (rest / s.kernel[0], rest % s.kernel[0]);
            let channel = output / s.group_outputs() * s.group_channels() + channel;
            let at = (
                input_position(s, 0, window / width, y),
                input_position(s, 1, window % width, x),
            );
            if let (Some(y), Some(x)) = at {
                let row = (sample * s.channels + channel) * s.size[0] + y;
                visit(out, output * s.taps() + tap, row * s.size[1] + x);
            }
        }
    }
}

fn assert_close<T: Float>(found: &[T], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let error = (found.to_f64() - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "{found:?} is not {expected}"
        );
    }
}

fn check_forward<T: Float>(s: &Shape, tolerance: f64) {
    let case = ConvArrays::<T>::new(s);
    let bias = |out: usize| case.bias[out / s.positions() % s.outputs].to_f64();
    let mut expected: Vec<f64> = (0..case.grad.len()).map(bias).collect();
    visit_products(s, |o, w, i| {
        expected[o] += case.weight[w].to_f64() * case.x[i].to_f64();
    });
    run_on_every_machine(|_| {
        let mut out = vec![T::from_f64(f64::NAN); case.grad.len()];
        forward(s, (&case.x, &case.weight), Some(&case.bias), &mut out, 1);
        assert_close(&out, &expected, tolerance);
    });
}

fn check_input_grad<T: Float>(s: &Shape, tolerance: f64) {
    let case = ConvArrays::<T>::new(s);
    let mut expected = vec![0.0; case.x.len()];
    visit_products(s, |o, w, i| {
        expected[i] += case.weight[w].to_f64() * case.grad[o].to_f64();
    });
    run_on_every_machine(|_| {
        let mut out = vec![T::from_f64(f64::NAN); case.x.len()];
        input_grad(s, &case.grad, &case.weight, &mut out, 1);
        assert_close(&out, &expected, tolerance);
    });
}

fn check_weight_grad<T: Float>(s: &Shape, tolerance: f64) {
    let case = ConvArrays::<T>::new(s);
    let mut expected = vec![0.0; case.weight.len()];
    visit_products(s, |o, w, i| {
        expected[w] += case.x[i].to_f64() * case.grad[o].to_f64();
    });
    let mut bias = vec![0.0; s.outputs];
    for (index, grad) in case.grad.iter().enumerate() {
        bias[index / s.positions() % s.outputs] += grad.to_f64();
    }
    run_on_every_machine(|_| {
        let nothing = |count: usize| vec![T::from_f64(f64::NAN); count];
        let (mut out, mut out_bias) = (nothing(expected.len()), nothing(bias.len()));
        let given = (&case.x[..], &case.grad[..]);
        weight_grad(s, given, &mut out, Some(&mut out_bias), 1);
        assert_close(&out, &expected, tolerance);
        assert_close(&out_bias, &bias, tolerance);
    });
}

fn check_convolution(shape: &Shape) {
    check_forward::<f32>(shape, 1e-4);
    check_forward::<f64>(shape, 1e-12);
    check_input_grad::<f32>(shape, 1e-4);
    check_input_grad::<f64>(shape, 1e-12);
    check_weight_grad::<f32>(shape, 1e-4);
    check_weight_grad::<f64>(shape, 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 24 }))]

    #[test]
    fn convolution_matches_the_definition(shape in conv_shapes()) {
        check_convolution(&shape);
    }

    #[test]
    fn convolution_along_one_axis_matches_the_definition(shape in conv_shapes_1d()) {
        check_convolution(&shape);
    }
}

/// Returns shapes along one axis with more windows and a longer filter than fit in one
/// block.
fn long_shape() -> Shape {
    Shape {
        batch: 1,
        channels: 50,
        size: [1, 530],
        outputs: 9,
        kernel: [1, 9],
        stride: [1, 1],
        padding: [0, 4],
        dilation: [1, 1],
        groups: 1,
    }
}

#[test]
fn shapes_larger_than_a_block_match_the_definition() {
    check_convolution(&long_shape());
    check_convolution(&Shape {
        outputs: 49,
        ..long_shape()
    }); // this shape uses packed windows
}

#[test]
fn widely_spaced_taps_match_the_definition() {
    check_convolution(&Shape {
        channels: 10,
        outputs: 32,
        padding: [0, 100],
        dilation: [1, 25],
        ..long_shape()
    });
}

#[test]
fn rows_longer_than_a_tile_match_the_definition() {
    let (batch, channels, outputs) = (2, 10, 14);
    let tall = Shape {
        batch,
        channels,
        size: [4, 700],
        outputs,
        kernel: [3, 5],
        padding: [1, 2],
        ..long_shape()
    };
    let flat = Shape {
        batch,
        channels: 30,
        size: [1, 700],
        outputs,
        kernel: [1, 5],
        padding: [0, 2],
        ..long_shape()
    };
    check_convolution(&tall);
    check_convolution(&flat);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for channels in [45, 50] {
        compare_thread_counts(&Shape {
            channels,
            ..long_shape()
        });
    }
}

/// Compares results for several numbers of threads. With up to 48 channels, convolution
/// windows are not packed, and each sample is split among the threads.
fn compare_thread_counts(shape: &Shape) {
    let case = ConvArrays::<f32>::new(shape);
    let grads = [1, 2, 4].map(|threads| {
        let (mut y, mut out) = (vec![0.0; case.grad.len()], vec![0.0; case.x.len()]);
        let mut weights = vec![0.0; case.weight.len()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            forward(shape, (&case.x, &case.weight), None, &mut y, threads);
            input_grad(shape, &case.grad, &case.weight, &mut out, threads);
            weight_grad(shape, (&case.x, &case.grad), &mut weights, None, threads);
        });
        (y, out, weights)
    });
    assert_eq!(grads[0], grads[1]);
    assert_eq!(grads[0], grads[2]);
}
