use proptest::prelude::*;

use super::{forward, input_grad, is_depthwise, weight_grad};
use crate::Float;
use crate::conv::{self, Shape};
use crate::machine::tests::run_on_every_machine;
use crate::product::tests::random_numbers;

/// Returns small shapes of depthwise convolutions in which no filter is larger than the
/// padded input.
fn depthwise_shapes() -> impl Strategy<Value = Shape> {
    let counts = (0..3_usize, 2..4_usize, 1..3_usize);
    let pair = |range: std::ops::Range<usize>| [range.clone(), range];
    let sizes = ([1..9_usize, 1..40], pair(1..5));
    (counts, sizes, pair(0..6), pair(1..3))
        .prop_map(|(counts, (size, kernel), padding, dilation)| {
            let (batch, channels, outputs_per_input) = counts;
            Shape {
                batch,
                channels,
                size,
                outputs: channels * outputs_per_input,
                kernel,
                stride: [1, 1],
                padding,
                dilation,
                groups: channels,
            }
        })
        .prop_filter("the filter fits", |shape| shape.out_size().is_some())
}

fn assert_near<T: Float>(found: &[T], wanted: &[T]) {
    for (found, wanted) in found.iter().zip(wanted) {
        let gap = (found.to_f64() - wanted.to_f64()).abs();
        assert!(
            gap <= 1e-4 * (1.0 + wanted.to_f64().abs()),
            "{found:?} {wanted:?}"
        );
    }
}

/// Compares the forward pass and both gradients of a depthwise convolution with those
/// of a general convolution.
fn compare_convolutions<T: Float>(shape: &Shape) {
    assert!(is_depthwise(shape));
    let [height, width] = shape.out_size().unwrap();
    let (inputs, outputs) = (
        shape.batch * shape.channels * shape.size[0] * shape.size[1],
        shape.batch * shape.outputs * height * width,
    );
    let taps = shape.outputs * shape.kernel[0] * shape.kernel[1];
    let (x, weight): (Vec<T>, Vec<T>) = (random_numbers(inputs, 1), random_numbers(taps, 2));
    let (bias, grad): (Vec<T>, Vec<T>) =
        (random_numbers(shape.outputs, 3), random_numbers(outputs, 4));
    let room = |count: usize| [vec![T::ONE; count], vec![T::ONE; count]];
    let [mut found, mut wanted] = room(outputs);
    forward(shape, (&x, &weight), Some(&bias), &mut found, 1);
    conv::forward(shape, (&x, &weight), Some(&bias), &mut wanted, 1);
    assert_near(&found, &wanted);
    let [mut found, mut wanted] = room(inputs);
    input_grad(shape, &grad, &weight, &mut found, 1);
    conv::input_grad(shape, &grad, &weight, &mut wanted, 1);
    assert_near(&found, &wanted);
    let ([mut found, mut wanted], [mut sum, mut total]) = (room(taps), room(shape.outputs));
    weight_grad(shape, (&x, &grad), &mut found, Some(&mut sum), 1);
    conv::weight_grad(shape, (&x, &grad), &mut wanted, Some(&mut total), 1);
    assert_near(&found, &wanted);
    assert_near(&sum, &total);
}

proptest! {
    #[test]
    fn a_depthwise_convolution_equals_a_grouped_convolution(shape in depthwise_shapes()) {
        run_on_every_machine(|_| {
            compare_convolutions::<f32>(&shape);
            compare_convolutions::<f64>(&shape);
        });
    }
}
