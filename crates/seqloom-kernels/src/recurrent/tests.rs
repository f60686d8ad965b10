use super::cell::{Cell, Gru, Lstm};
use super::{
    RecurrentGrads, RecurrentInputs, RecurrentLayer, RecurrentOutputs, RecurrentResults, backward,
    forward,
};
use crate::machine::tests::run_on_every_machine;

const LAYER_SIZES: [usize; 3] = [5, 4, 3]; // sequences, positions and state width

fn test_numbers(count: usize, start: f64) -> Vec<f64> {
    (0..u32::try_from(count).unwrap())
        .map(|number| (start + 1.7 * f64::from(number)).sin())
        .collect()
}

/// Returns random arrays of a layer: the input part of the gates, the initial states
/// and cells, the weights and the biases.
fn random_arrays<C: Cell>(_: C) -> [Vec<f64>; 5] {
    let [batch, length, width] = LAYER_SIZES;
    let sizes = [
        batch * length * C::GATES * width,
        batch * width,
        batch * width,
        C::GATES * width * width,
        C::GATES * width,
    ];
    let mut start = 0.0;
    sizes.map(|size| {
        start += 1.0;
        test_numbers(size, start)
    })
}

fn test_mask() -> Vec<bool> {
    let [batch, length, _] = LAYER_SIZES;
    (0..batch * length)
        .map(|place| place % length <= place / length)
        .collect()
}

fn new_layer<'a, C: Cell>(
    _: C,
    arrays: &'a [Vec<f64>; 5],
    mask: &'a [bool],
    reverse: bool,
) -> RecurrentLayer<'a, f64> {
    RecurrentLayer {
        states: &arrays[1],
        cells: C::HAS_CELLS.then_some(&arrays[2][..]),
        weight: &arrays[3],
        bias: Some(&arrays[4]),
        mask: Some(mask),
        length: LAYER_SIZES[1],
        width: LAYER_SIZES[2],
        reverse,
    }
}

/// Returns the identity as input weights, so that the input part of the gates equals
/// the inputs.
fn identity_weights(columns: usize) -> Vec<f64> {
    let mut weight = vec![0.0; columns * columns];
    let diagonal = weight.iter_mut().step_by(columns + 1);
    diagonal.for_each(|weight| *weight = 1.0);
    weight
}

/// Computes the forward pass of a layer whose input weights are the identity.
fn fill_states<C: Cell>(
    cell: C,
    arrays: &[Vec<f64>; 5],
    reverse: bool,
    outputs: RecurrentOutputs<'_, f64>,
) {
    let columns = C::GATES * LAYER_SIZES[2];
    let identity = identity_weights(columns);
    let inputs = RecurrentInputs {
        x: &arrays[0],
        weight: &identity,
        bias: None,
        features: columns,
    };
    let mask = test_mask();
    forward(&new_layer(cell, arrays, &mask, reverse), inputs, outputs, 1);
}

fn run_layer<C: Cell>(cell: C, arrays: &[Vec<f64>; 5], reverse: bool) -> [Vec<f64>; 2] {
    let [batch, length, width] = LAYER_SIZES;
    let mut states = vec![f64::NAN; batch * length * width];
    let mut kept = vec![f64::NAN; batch * length * C::STORED_VECTORS * width];
    let outputs = RecurrentOutputs::All(&mut states, Some(&mut kept));
    fill_states(cell, arrays, reverse, outputs);
    [states, kept]
}

/// Returns the gradients of the input part of the gates, and of the initial states.
fn layer_gradients<C: Cell>(
    cell: C,
    arrays: &[Vec<f64>; 5],
    grad: &[f64],
    reverse: bool,
) -> [Vec<f64>; 2] {
    let [states, kept] = run_layer(cell, arrays, reverse);
    let (mut from_inputs, mut first) = (arrays[0].clone(), vec![0.0; arrays[1].len()]);
    let (mut recurrent, mut cells) = (arrays[0].clone(), first.clone());
    let (parts, cells) = if C::HAS_CELLS {
        (0, &mut cells[..])
    } else {
        (recurrent.len(), &mut cells[..0])
    };
    let grads = RecurrentGrads {
        from_inputs: &mut from_inputs,
        recurrent: &mut recurrent[..parts],
        states: &mut first,
        cells,
    };
    let mask = test_mask();
    let results = RecurrentResults {
        grad,
        states: &states,
        kept: &kept,
    };
    let layer = new_layer(cell, arrays, &mask, reverse);
    backward(&layer, &results, grads, 1);
    [from_inputs, first]
}

/// Compares the gradients of the gates and of the initial states with finite
/// differences.
fn check_gradients<C: Cell>(cell: C, reverse: bool) {
    let mut arrays = random_arrays(cell);
    let grad = test_numbers(LAYER_SIZES.iter().product(), 9.0);
    let found = layer_gradients(cell, &arrays, &grad, reverse);
    for (array, found) in found.iter().enumerate() {
        for (place, &found) in found.iter().enumerate() {
            let given = arrays[array][place];
            let mut loss = |step: f64| -> f64 {
                arrays[array][place] = given + step;
                let [states, _] = run_layer(cell, &arrays, reverse);
                states.iter().zip(&grad).map(|(x, y)| x * y).sum()
            };
            let slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            arrays[array][place] = given;
            assert!(
                (slope - found).abs() < 1e-8,
                "{array} {place}: {slope} {found}"
            );
        }
    }
}

#[test]
fn gradients_match_finite_differences() {
    run_on_every_machine(|_| {
        for reverse in [false, true] {
            check_gradients(Gru, reverse);
            check_gradients(Lstm, reverse);
        }
    });
}

#[test]
fn a_masked_position_keeps_the_state() {
    let [batch, length, width] = LAYER_SIZES;
    let [states, _] = run_layer(Gru, &random_arrays(Gru), false);
    let last = &states[(length - 1) * width..][..width];
    assert_eq!(batch * length * width, states.len());
    assert_eq!(&states[..width], last);
}

/// Returns the states at some positions twice: selected from all states, and computed
/// without the other states.
fn states_computed_twice<C: Cell>(cell: C, reverse: bool, positions: &[usize]) -> [Vec<f64>; 2] {
    let [batch, length, width] = LAYER_SIZES;
    let arrays = random_arrays(cell);
    let [states, _] = run_layer(cell, &arrays, reverse);
    let mut found = vec![f64::NAN; batch * width];
    let outputs = RecurrentOutputs::At(positions, &mut found);
    fill_states(cell, &arrays, reverse, outputs);
    let rows = positions.iter().enumerate();
    let expected = rows.flat_map(|(row, at)| &states[(row * length + at) * width..][..width]);
    [expected.copied().collect(), found]
}

#[test]
fn states_at_some_positions_equal_those_of_all_positions() {
    run_on_every_machine(|_| {
        for reverse in [false, true] {
            let positions = [3, 0, 2, 1, 3];
            let [expected, found] = states_computed_twice(Gru, reverse, &positions);
            assert_eq!(expected, found);
            let [expected, found] = states_computed_twice(Lstm, reverse, &positions);
            assert_eq!(expected, found);
        }
    });
}
