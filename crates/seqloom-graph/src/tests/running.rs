//! Tests that compare the results of graphs with values computed by hand.

use serde_json::{Value, json};

use super::{ExportFixture, GraphBuilder, run_graph};
use crate::{Array, Elements, Input, Limits, Model, Values};

fn float_values(array: &Array) -> &[f32] {
    array.values.as_f32().unwrap()
}

fn ascending_values(count: u16) -> Vec<f32> {
    (0..count).map(f32::from).collect()
}

#[test]
fn inputs_are_combined_with_weights_and_numbers() {
    let model = Model::new(
        ExportFixture::doubling_model().open().unwrap(),
        Limits::default(),
    )
    .unwrap();
    let input = Input {
        name: "inputs",
        shape: &[2, 3],
        data: Elements::F32(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    };
    let found = model.run(&[input], 1).unwrap();
    assert_eq!(float_values(&found[0]), [1.0, 4.0, 7.0, 7.0, 10.0, 13.0]);
    assert_eq!(
        (found[0].name.as_str(), &found[0].shape[..]),
        ("outputs", &[2, 3][..])
    );
}

#[test]
fn a_new_batch_size_creates_a_new_plan() {
    let model = Model::new(
        ExportFixture::doubling_model().open().unwrap(),
        Limits::default(),
    )
    .unwrap();
    for batch in [1, 3, 1] {
        let data = vec![0.5; batch * 3];
        let input = Input {
            name: "inputs",
            shape: &[batch, 3],
            data: Elements::F32(&data),
        };
        assert_eq!(
            float_values(&model.run(&[input], 1).unwrap()[0]).len(),
            batch * 3
        );
    }
}

#[test]
fn a_wrong_input_shape_is_named_in_the_error() {
    let model = Model::new(
        ExportFixture::doubling_model().open().unwrap(),
        Limits::default(),
    )
    .unwrap();
    let input = Input {
        name: "inputs",
        shape: &[2, 4],
        data: Elements::F32(&[0.0; 8]),
    };
    let message = model.run(&[input], 1).unwrap_err().to_string();
    assert_eq!(message, "inputs: axis 1 of [2, 4]: expected 3, got 4");
}

#[test]
fn convolution_runs_along_the_last_axis() {
    let mut maker = GraphBuilder::new(&[json!(["batch", 1, "length"]), json!([1, 1, 2])]);
    let args = json!([{"value": 0}, {"value": 1}]);
    let made = maker.add("conv1d", &args, &[("float32", json!(["batch", 1, "n1"]))]);
    maker.mark_output(made);
    let inputs = [
        (&[1, 1, 4][..], ascending_values(4)),
        (&[1, 1, 2], vec![1.0, 10.0]),
    ];
    let found = run_graph(&maker.to_json(), &inputs).unwrap();
    assert_eq!(float_values(&found[0]), [10.0, 21.0, 32.0]);
}

#[test]
fn index_keys_select_parts_of_axes() {
    let mut maker = GraphBuilder::new(&[json!([3, 4])]);
    let key = json!([{"slice": [null, null, -1]}, {"slice": [1, null, 2]}, {"newaxis": true}]);
    let made = maker.add(
        "index",
        &json!([{"value": 0}, key]),
        &[("float32", json!([3, 2, 1]))],
    );
    maker.mark_output(made);
    let found = run_graph(&maker.to_json(), &[(&[3, 4], ascending_values(12))]).unwrap();
    assert_eq!(float_values(&found[0]), [9.0, 11.0, 5.0, 7.0, 1.0, 3.0]);
}

#[test]
fn negative_indices_count_from_the_end() {
    let graph = |place: i64| {
        let mut maker = GraphBuilder::new(&[json!([3])]);
        let arange = json!([place, {"size": [1], "plus": place}]);
        let places = maker.add("arange", &arange, &[("int64", json!([1]))]);
        let args = json!([{"value": 0}, {"value": places}]);
        let made = maker.add("take", &args, &[("float32", json!([1]))]);
        maker.option("axis", json!(0));
        maker.mark_output(made);
        run_graph(&maker.to_json(), &[(&[3], ascending_values(3))])
    };
    assert_eq!(float_values(&graph(-1).unwrap()[0]), [2.0]);
    assert!(
        graph(3)
            .unwrap_err()
            .contains("operation 1, take (net.py:1): index 3 is outside an axis")
    );
}

#[test]
fn where_selects_by_condition() {
    let mut maker = GraphBuilder::new(&[json!([4])]);
    let booleans = maker.add(
        "greater",
        &json!([{"value": 0}, 1.5]),
        &[("bool", json!([4]))],
    );
    let args = json!([{"value": booleans}, {"value": 0}, {"float": "-inf"}]);
    let made = maker.add("where", &args, &[("float32", json!([4]))]);
    maker.mark_output(booleans);
    maker.mark_output(made);
    let found = run_graph(&maker.to_json(), &[(&[4], ascending_values(4))]).unwrap();
    assert_eq!(
        found[0].values,
        Values::Bool(vec![false, false, true, true])
    );
    assert_eq!(
        float_values(&found[1]),
        [f32::NEG_INFINITY, f32::NEG_INFINITY, 2.0, 3.0]
    );
}

/// Adds a recurrent layer in both directions, and concatenates their states.
fn add_layers(maker: &mut GraphBuilder) -> u64 {
    let mut states = Vec::new();
    for reverse in [false, true] {
        let first = json!({"value": 1});
        let args = json!([{"value": 0}, first, first, {"value": 2}, {"value": 3}]);
        let last = ("float32", json!(["batch", 3]));
        let all = ("float32", json!(["batch", "length", 3]));
        let kept = ("float32", json!(["batch", "length", 15]));
        states.push(maker.add("lstm", &args, &[all, last.clone(), last, kept]));
        maker.option("reverse", json!(reverse));
    }
    let parts = json!([[{"value": states[0]}, {"value": states[1]}]]);
    let both = maker.add(
        "concat",
        &parts,
        &[("float32", json!(["batch", "length", 6]))],
    );
    maker.option("axis", json!(2));
    both
}

/// Adds an array of the positions 0, 1, 2 and so on, one for each sequence.
fn add_position_array(maker: &mut GraphBuilder) -> u64 {
    let size = json!({"size": ["batch"]});
    let counts = maker.add("arange", &json!([size]), &[("int64", json!(["batch"]))]);
    let args = json!([{"value": counts}, [size, 1, 1]]);
    let wide = maker.add("reshape", &args, &[("int64", json!(["batch", 1, 1]))]);
    let args = json!([{"value": wide}, [size, 1, 6]]);
    maker.add("broadcast_to", &args, &[("int64", json!(["batch", 1, 6]))])
}

/// Runs recurrent layers and uses only one state per sequence, or all states if
/// `reads_all`.
fn run_recurrent_layers(reads_all: bool) -> Vec<Array> {
    let first = [json!(["batch", "length", 2]), json!(["batch", 3])];
    let mut maker = GraphBuilder::new(&[&first[..], &[json!([12, 2]), json!([12, 3])]].concat());
    let (both, places) = (add_layers(&mut maker), add_position_array(&mut maker));
    let args = json!([{"value": both}, {"value": places}]);
    let made = maker.add(
        "take_along_axis",
        &args,
        &[("float32", json!(["batch", 1, 6]))],
    );
    maker.option("axis", json!(1));
    maker.mark_output(made);
    if reads_all {
        maker.mark_output(both);
    }
    let wave = |count: u16| {
        (0..count)
            .map(|i| (f32::from(i) * 0.7).sin())
            .collect::<Vec<f32>>()
    };
    let inputs = [
        (&[5, 6, 2][..], wave(60)),
        (&[5, 3], wave(15)),
        (&[12, 2], wave(24)),
        (&[12, 3], wave(36)),
    ];
    run_graph(&maker.to_json(), &inputs).unwrap()
}

#[test]
fn a_single_computed_state_equals_the_state_among_all_states() {
    let (alone, among) = (run_recurrent_layers(false), run_recurrent_layers(true));
    assert_eq!(alone[0], among[0]);
    let all = float_values(&among[1]);
    let picked: Vec<f32> = (0..5)
        .flat_map(|row| all[(row * 6 + row) * 6..][..6].to_vec())
        .collect();
    assert_eq!(float_values(&alone[0]), picked);
}

/// Returns the result of an operation on the integers 0 to 3.
fn run_on_integers(name: &str, more: &[Value]) -> Result<Values, String> {
    let mut maker = GraphBuilder::new(&[json!([4])]);
    let args = json!([{"value": 0}, {"dtype": "int64"}]);
    let x = maker.add("astype", &args, &[("int64", json!([4]))]);
    let args = [&[json!({"value": x})], more].concat();
    let made = maker.add(name, &json!(args), &[("int64", json!(["n"]))]);
    maker.mark_output(made);
    let found = run_graph(&maker.to_json(), &[(&[4], ascending_values(4))])?;
    Ok(found[0].values.clone())
}

#[test]
fn several_shifts_along_one_axis_are_summed() {
    let found = run_on_integers("roll", &[json!([2, 1]), json!(0)]).unwrap();
    assert_eq!(found, Values::I64(vec![1, 2, 3, 0]));
    let found = run_on_integers("roll", &[json!([2, 1]), json!([0, -1])]).unwrap();
    assert_eq!(found, Values::I64(vec![1, 2, 3, 0]));
    let message = run_on_integers("roll", &[json!([1, 1, 1]), json!([0, 0])]).unwrap_err();
    assert!(
        message.contains("shift [1, 1, 1] and axis [0, 0]"),
        "{message}"
    );
}

#[test]
fn integer_powers_need_a_non_negative_exponent() {
    // The expected value is 3^(2^32 + 1) modulo 2^64.
    let found = run_on_integers("pow", &[json!((1_i64 << 32) + 1)]).unwrap();
    assert_eq!(found, Values::I64(vec![0, 1, 0, 7_473_929_035_676_909_571]));
    for power in [json!(-1), json!(i64::MIN)] {
        let message = run_on_integers("pow", &[power]).unwrap_err();
        assert!(message.contains("negative powers of integers"), "{message}");
    }
}

#[test]
fn integers_above_2_to_the_53_are_exact() {
    let large = (1_i64 << 53) + 1;
    let found = run_on_integers("add", &[json!(large)]).unwrap();
    let wanted = (0..4).map(|number| large + number).collect();
    assert_eq!(found, Values::I64(wanted));
    let found = run_on_integers("pad", &[json!([[1, 0]]), json!(large)]).unwrap();
    assert_eq!(found, Values::I64(vec![large, 0, 1, 2, 3]));
}

#[test]
fn repeated_axes_of_tensordot_are_an_error() {
    let mut maker = GraphBuilder::new(&[json!([2, 2])]);
    let args = json!([{"value": 0}, {"value": 0}, [[0, 0], [0, 1]]]);
    let made = maker.add("tensordot", &args, &[("float32", json!(["n"]))]);
    maker.mark_output(made);
    let message = run_graph(&maker.to_json(), &[(&[2, 2], ascending_values(4))]).unwrap_err();
    assert!(message.contains("[0, 0] names an axis twice"), "{message}");
}
