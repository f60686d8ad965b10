//! Tests that computing a few records at a time gives the same results as computing all
//! records together.

use serde_json::{Value, json};

use super::ExportFixture;
use crate::graph::Operation;
use crate::records::split_graph;
use crate::{Array, Elements, Input, Limits, Model};

const CHANNELS: usize = 8;
const LENGTH: usize = 2_000;

fn sine_wave(count: usize) -> Vec<f32> {
    let numbers = (0..count).map(|number| u16::try_from(number % 8_191).unwrap_or_default());
    numbers
        .map(|number| (f32::from(number) * 0.7).sin())
        .collect()
}

fn operation_json(name: &str, args: &Value, options: &Value, number: u64, shape: &Value) -> Value {
    json!({
        "name": name, "args": args, "options": options, "line": "net.py:1",
        "outputs": [{"value": number, "dtype": "float32", "shape": shape}],
    })
}

/// Returns a model with a convolution, a residual, means over positions, and finally
/// the operation `last`.
fn slice_model(last: &Value) -> ExportFixture {
    let (whole, rows) = (
        json!(["batch", CHANNELS, "length"]),
        json!(["batch", CHANNELS]),
    );
    let same = json!({"padding": 4, "dilation": 4});
    let graph = json!({
        "version": 1,
        "inputs": [{"name": "x", "value": 0, "dtype": "float32", "shape": whole}],
        "weights": [
            {"name": "filter", "value": 1, "dtype": "float32", "shape": [CHANNELS, CHANNELS, 3]},
            {"name": "scale", "value": 2, "dtype": "float32", "shape": [CHANNELS, 1]},
        ],
        "operations": [
            operation_json("sqrt", &json!([{"value": 2}]), &json!({}), 3, &json!([CHANNELS, 1])),
            operation_json("conv1d", &json!([{"value": 0}, {"value": 1}]), &same, 4, &whole),
            operation_json("relu", &json!([{"value": 4}]), &json!({}), 5, &whole),
            operation_json("add", &json!([{"value": 0}, {"value": 5}]), &json!({}), 6, &whole),
            operation_json("multiply", &json!([{"value": 6}, {"value": 3}]), &json!({}), 7, &whole),
            operation_json("mean", &json!([{"value": 7}]), &json!({"axis": 2}), 8, &rows),
            operation_json(last["name"].as_str().unwrap_or_default(), &last["args"], &last["options"], 9, &rows),
        ],
        "outputs": [{"name": "means", "value": 8}, {"name": "last", "value": 9}],
    });
    let filter = sine_wave(CHANNELS * CHANNELS * 3);
    let scale = [2.0; CHANNELS];
    let weights: [(&str, &[usize], &[f32]); 2] = [
        ("filter", &[CHANNELS, CHANNELS, 3], &filter),
        ("scale", &[CHANNELS, 1], &scale),
    ];
    ExportFixture::new(&graph, &weights)
}

fn sum_over_records() -> Value {
    json!({"name": "cumulative_sum", "args": [{"value": 8}], "options": {"axis": 0}})
}

fn run_records(records: std::ops::Range<usize>, threads: usize) -> Vec<Array> {
    let model = Model::new(
        slice_model(&sum_over_records()).open().unwrap(),
        Limits::default(),
    )
    .unwrap();
    let (row, x) = (CHANNELS * LENGTH, sine_wave(30 * CHANNELS * LENGTH));
    let input = Input {
        name: "x",
        shape: &[records.len(), CHANNELS, LENGTH],
        data: Elements::F32(&x[records.start * row..records.end * row]),
    };
    model.run_with_poison(&[input], threads, true).unwrap()
}

fn float_values(array: &Array) -> &[f32] {
    array.values.as_f32().unwrap()
}

#[test]
fn a_record_gets_the_same_result_alone_and_in_a_batch() {
    let together = run_records(0..29, 1);
    let alone =
        (0..29).flat_map(|record| float_values(&run_records(record..record + 1, 1)[0]).to_vec());
    assert_eq!(float_values(&together[0]), alone.collect::<Vec<_>>());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let one = run_records(0..29, 1);
    for threads in [2, 3, 64] {
        assert_eq!(run_records(0..29, threads), one);
    }
}

#[test]
fn operations_across_records_read_all_records() {
    let found = run_records(0..29, 2);
    let mut sums = vec![0.0_f32; CHANNELS];
    for (means, expected) in float_values(&found[0])
        .chunks(CHANNELS)
        .zip(float_values(&found[1]).chunks(CHANNELS))
    {
        sums.iter_mut()
            .zip(means)
            .for_each(|(sum, mean)| *sum += mean);
        assert_eq!(sums, expected);
    }
}

/// Returns the names of the operations in both halves of a split graph.
fn split_operation_names(last: &Value) -> [Vec<&'static str>; 2] {
    let (graphs, _) = slice_model(last).open().unwrap().into_parts();
    let (records, rest) = split_graph(&graphs[0]).unwrap();
    [records, rest].map(|graph| graph.operations.iter().map(Operation::name).collect())
}

#[test]
fn a_graph_is_split_before_operations_across_records() {
    let [records, rest] = split_operation_names(&sum_over_records());
    assert_eq!(
        records,
        ["sqrt", "conv1d", "relu", "add", "multiply", "mean"]
    );
    assert_eq!(rest, ["sqrt", "cumulative_sum"]);
}

#[test]
fn the_number_of_records_is_that_of_the_whole_batch() {
    let last =
        json!({"name": "divide", "args": [{"value": 8}, {"size": ["batch"]}], "options": {}});
    let [_, rest] = split_operation_names(&last);
    assert_eq!(rest, ["sqrt", "divide"]);
}

#[test]
fn an_error_in_a_slice_names_the_operation_of_the_full_graph() {
    let last =
        json!({"name": "take", "args": [{"value": 8}, {"value": 8}], "options": {"axis": 0}});
    let model = Model::new(slice_model(&last).open().unwrap(), Limits::default()).unwrap();
    let input = Input {
        name: "x",
        shape: &[29, CHANNELS, LENGTH],
        data: Elements::F32(&sine_wave(29 * CHANNELS * LENGTH)),
    };
    let message = model.run(&[input], 1).unwrap_err().to_string();
    assert!(
        message.starts_with("operation 6, take (net.py:1)"),
        "{message}"
    );
}
