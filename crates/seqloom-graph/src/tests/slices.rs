//! A few records at a time give the numbers that all of them give together.

use serde_json::{Value, json};

use super::Files;
use crate::graph::Operation;
use crate::records::cut;
use crate::{Array, Input, Limits, Model, Numbers};

const CHANNELS: usize = 8;
const LENGTH: usize = 2_000;

fn wave(count: usize) -> Vec<f32> {
    let numbers = (0..count).map(|number| u16::try_from(number % 8_191).unwrap_or_default());
    numbers
        .map(|number| (f32::from(number) * 0.7).sin())
        .collect()
}

fn made(name: &str, args: &Value, options: &Value, number: u64, shape: &Value) -> Value {
    json!({
        "name": name, "args": args, "options": options, "line": "net.py:1",
        "outputs": [{"value": number, "dtype": "float32", "shape": shape}],
    })
}

/// A convolution, what it adds to its input, means of positions, and `last` of those.
fn files(last: &Value) -> Files {
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
            made("sqrt", &json!([{"value": 2}]), &json!({}), 3, &json!([CHANNELS, 1])),
            made("conv1d", &json!([{"value": 0}, {"value": 1}]), &same, 4, &whole),
            made("relu", &json!([{"value": 4}]), &json!({}), 5, &whole),
            made("add", &json!([{"value": 0}, {"value": 5}]), &json!({}), 6, &whole),
            made("multiply", &json!([{"value": 6}, {"value": 3}]), &json!({}), 7, &whole),
            made("mean", &json!([{"value": 7}]), &json!({"axis": 2}), 8, &rows),
            made(last["name"].as_str().unwrap_or_default(), &last["args"], &last["options"], 9, &rows),
        ],
        "outputs": [{"name": "means", "value": 8}, {"name": "last", "value": 9}],
    });
    let filter = wave(CHANNELS * CHANNELS * 3);
    let scale = [2.0; CHANNELS];
    let weights: [(&str, &[usize], &[f32]); 2] = [
        ("filter", &[CHANNELS, CHANNELS, 3], &filter),
        ("scale", &[CHANNELS, 1], &scale),
    ];
    Files::new(&graph, &weights)
}

fn add_up() -> Value {
    json!({"name": "cumulative_sum", "args": [{"value": 8}], "options": {"axis": 0}})
}

fn run(records: std::ops::Range<usize>, threads: usize) -> Vec<Array> {
    let model = Model::new(files(&add_up()).open().unwrap(), Limits::default()).unwrap();
    let (row, x) = (CHANNELS * LENGTH, wave(30 * CHANNELS * LENGTH));
    let input = Input {
        name: "x",
        shape: &[records.len(), CHANNELS, LENGTH],
        data: Numbers::F32(&x[records.start * row..records.end * row]),
    };
    model.run_with(&[input], threads, true).unwrap()
}

fn numbers(array: &Array) -> &[f32] {
    array.values.as_f32().unwrap()
}

#[test]
fn each_record_gets_the_numbers_that_it_gets_alone() {
    let together = run(0..29, 1);
    let alone = (0..29).flat_map(|record| numbers(&run(record..record + 1, 1)[0]).to_vec());
    assert_eq!(numbers(&together[0]), alone.collect::<Vec<_>>());
}

#[test]
fn threads_change_no_bit() {
    let one = run(0..29, 1);
    for threads in [2, 3, 64] {
        assert_eq!(run(0..29, threads), one);
    }
}

#[test]
fn what_looks_at_other_records_sees_all_of_them() {
    let found = run(0..29, 2);
    let mut sums = vec![0.0_f32; CHANNELS];
    for (means, expected) in numbers(&found[0])
        .chunks(CHANNELS)
        .zip(numbers(&found[1]).chunks(CHANNELS))
    {
        sums.iter_mut()
            .zip(means)
            .for_each(|(sum, mean)| *sum += mean);
        assert_eq!(sums, expected);
    }
}

/// The names of the operations of both parts.
fn parts(last: &Value) -> [Vec<&'static str>; 2] {
    let (graphs, _) = files(last).open().unwrap().into_parts();
    let (records, rest) = cut(&graphs[0]).unwrap();
    [records, rest].map(|graph| graph.operations.iter().map(Operation::name).collect())
}

#[test]
fn a_graph_is_cut_before_what_looks_at_other_records() {
    let [records, rest] = parts(&add_up());
    assert_eq!(
        records,
        ["sqrt", "conv1d", "relu", "add", "multiply", "mean"]
    );
    assert_eq!(rest, ["sqrt", "cumulative_sum"]);
}

#[test]
fn a_number_that_counts_the_records_is_of_all_of_them() {
    let last =
        json!({"name": "divide", "args": [{"value": 8}, {"size": ["batch"]}], "options": {}});
    let [_, rest] = parts(&last);
    assert_eq!(rest, ["sqrt", "divide"]);
}

#[test]
fn an_error_names_the_operation_of_the_whole_graph() {
    let last =
        json!({"name": "take", "args": [{"value": 8}, {"value": 8}], "options": {"axis": 0}});
    let model = Model::new(files(&last).open().unwrap(), Limits::default()).unwrap();
    let input = Input {
        name: "x",
        shape: &[29, CHANNELS, LENGTH],
        data: Numbers::F32(&wave(29 * CHANNELS * LENGTH)),
    };
    let message = model.run(&[input], 1).unwrap_err().to_string();
    assert!(
        message.starts_with("operation 6, take (net.py:1)"),
        "{message}"
    );
}
