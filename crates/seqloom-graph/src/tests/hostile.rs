//! Tests that a corrupt export causes an error and never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ExportFixture, GraphBuilder, run_graph};
use crate::{Elements, Export, Input, Limits, Model};

/// Returns a graph that contains many different operations.
fn varied_graph() -> Value {
    let mut maker = GraphBuilder::new(&[json!(["batch", 4, "length"]), json!([4, 2, 3])]);
    let conv = add_windows(&mut maker);
    let key = json!([{"ellipsis": true}, {"slice": [0, -1, 2]}]);
    let shape = json!(["batch", 4, "n2"]);
    let index = maker.add(
        "index",
        &json!([{"value": conv}, key]),
        &[("float32", shape)],
    );
    let shape = json!(["batch", 4]);
    let total = maker.add("sum", &json!([{"value": index}]), &[("float32", shape)]);
    maker.option("axis", json!(-1));
    let size = json!({"size": ["batch"], "times": 1, "over": 1, "plus": 0});
    let args = json!([{"value": total}, [3, size, 4]]);
    let shape = json!([3, "batch", 4]);
    let wide = json!({"value": maker.add("broadcast_to", &args, &[("float32", shape.clone())])});
    let transposed = json!([3, 4, "batch"]);
    let transposed = maker.add(
        "matrix_transpose",
        &json!([wide]),
        &[("float32", transposed)],
    );
    let args = json!([{"value": transposed}, wide]);
    let product = maker.add("matmul", &args, &[("float32", json!([3, 4, 4]))]);
    maker.mark_output(product);
    maker.to_json()
}

/// Adds a convolution and a max pooling; one of their results is an output of the
/// graph.
fn add_windows(maker: &mut GraphBuilder) -> u64 {
    let args = json!([{"value": 0}, {"value": 1}]);
    let conv = maker.add(
        "conv1d",
        &args,
        &[("float32", json!(["batch", 4, "length"]))],
    );
    maker.option("padding", json!([1]));
    maker.option("groups", json!(2));
    let shape = json!(["batch", 4, "n1"]);
    let outputs = [("float32", shape.clone()), ("int64", shape)];
    let pooled = maker.add("max_pool1d", &json!([{"value": conv}]), &outputs);
    maker.option("kernel", json!([2]));
    maker.option("stride", json!([2]));
    let args = json!([{"value": pooled}, [{"size": ["batch"]}, -1]]);
    let flat = maker.add("reshape", &args, &[("float32", json!(["batch", "n3"]))]);
    maker.mark_output(flat);
    conv
}

/// Returns the value that replaces an entry of the graph to corrupt it.
fn corrupt_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("conjure")),
        Just(json!({"value": 3})),
        Just(json!({"size": ["batch", "length"], "times": i64::MAX, "over": 1, "plus": 1})),
        Just(json!({"float": "nan"})),
        Just(json!({"slice": [null, null, 0]})),
        any::<i64>().prop_map(|number| json!(number)),
        (-3_i64..9).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
    ]
}

/// Collects the paths of all entries of a JSON value.
fn json_paths(json: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match json {
        Value::Array(parts) => {
            let each = parts.iter().enumerate();
            each.for_each(|(at, part)| json_paths(part, &format!("{here}/{at}"), found));
        }
        Value::Object(parts) => {
            parts
                .iter()
                .for_each(|(key, part)| json_paths(part, &format!("{here}/{key}"), found));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_corrupt_graph_is_an_error_or_runs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), corrupt_values()), 1..4)
    ) {
        let mut graph = varied_graph();
        for (place, value) in changes {
            let mut all = Vec::new();
            json_paths(&graph, "", &mut all);
            if let Some(slot) = graph.pointer_mut(place.get(&all[..]).as_str()) {
                *slot = value;
            }
        }
        let inputs = [(&[2, 4, 6][..], vec![0.5; 48]), (&[4, 2, 3], vec![0.25; 24])];
        if let Err(message) = run_graph(&graph, &inputs) {
            // A panic during a run is reported as a format error.
            prop_assert!(!message.starts_with("Format"), "{}", message);
        }
    }
}

#[test]
fn every_flipped_byte_is_an_error_or_harmless() {
    let zip = ExportFixture::doubling_model().zip();
    let scores = |zip: Vec<u8>| {
        let model = Model::new(Export::from_zip(zip)?, Limits::default())?;
        let input = Input {
            name: "inputs",
            shape: &[1, 3],
            data: Elements::F32(&[1.0, 2.0, 3.0]),
        };
        model.run(&[input], 1)
    };
    let wanted = scores(zip.clone()).unwrap();
    for at in 0..zip.len() {
        let mut flipped = zip.clone();
        flipped[at] ^= 0x11;
        if let Ok(found) = scores(flipped) {
            assert_eq!(found, wanted, "byte {at}");
        }
    }
}

#[test]
fn an_array_larger_than_the_limit_is_never_allocated() {
    let mut maker = GraphBuilder::new(&[json!(["batch"])]);
    let size = json!([[1 << 20, 1 << 20, 1 << 20]]);
    let shape = json!([1 << 20, 1 << 20, 1 << 20]);
    let made = maker.add("zeros", &size, &[("float32", shape)]);
    maker.mark_output(made);
    let message = run_graph(&maker.to_json(), &[(&[1], vec![0.0])]).unwrap_err();
    assert!(message.contains("is larger than the"), "{message}");
}

/// Returns the error of a graph in which each operation reads the output of the previous
/// operation.
fn chain_error(shape: &[usize], calls: &[(&str, Value, &str, Value)]) -> String {
    let mut maker = GraphBuilder::new(&[json!(shape)]);
    let mut value = 0;
    for (name, args, dtype, made) in calls {
        let args = args.as_array().into_iter().flatten().cloned();
        let args: Vec<Value> = [json!({"value": value})].into_iter().chain(args).collect();
        value = maker.add(name, &json!(args), &[(dtype, made.clone())]);
    }
    maker.mark_output(value);
    let count = shape.iter().product();
    run_graph(&maker.to_json(), &[(shape, vec![0.0; count])]).unwrap_err()
}

#[test]
fn the_memory_limit_is_checked_before_lists_are_built() {
    let tera = 1_000_000_000_000_u64;
    let one_hot = ("one_hot", json!([tera]), "int64", json!([1, tera]));
    let message = chain_error(&[1], &[one_hot]);
    assert!(message.contains("is larger than the 4194304"), "{message}");
    // An array of this size fits in memory as bytes, but not as indices of 8 bytes
    // each.
    let mega = 1 << 20;
    let cast = ("astype", json!([{"dtype": "uint8"}]), "uint8", json!([1]));
    let wide = ("broadcast_to", json!([[mega]]), "uint8", json!([mega]));
    let transposed = ("flip", json!([]), "uint8", json!([mega]));
    let message = chain_error(&[1], &[cast, wide, transposed]);
    assert!(
        message.contains("[1048576] of int64 is larger"),
        "{message}"
    );
}

#[test]
fn an_empty_array_with_long_axes_is_an_error() {
    let shape = json!([1 << 20, 1 << 20, 0]);
    let wide = ("broadcast_to", json!([shape]), "float32", shape.clone());
    let sum = ("exp", json!([]), "float32", shape);
    let message = chain_error(&[1, 1, 0], &[wide, sum]);
    assert!(message.contains("is larger than the"), "{message}");
}

#[test]
fn a_view_with_too_many_elements_is_an_error() {
    let shape = json!([0, 1_u64 << 40, 1_u64 << 40]);
    let wide = ("broadcast_to", json!([shape]), "float32", shape.clone());
    let message = chain_error(&[0, 1, 1], &[wide]);
    assert!(message.contains("is too large"), "{message}");
}

#[test]
fn the_memory_of_a_padded_sample_is_checked_before_the_kernel_runs() {
    let mut maker = GraphBuilder::new(&[json!([1, 2, 1, 1]), json!([2, 1, 2, 2])]);
    let args = json!([{"value": 0}, {"value": 1}]);
    let conv = maker.add("conv2d", &args, &[("float32", json!([1, 2, 1, 1]))]);
    maker.option("groups", json!(2));
    maker.option("padding", json!([1 << 25, 1 << 25]));
    maker.option("dilation", json!([1 << 26, 1 << 26]));
    maker.mark_output(conv);
    let inputs = [
        (&[1, 2, 1, 1][..], vec![1.0; 2]),
        (&[2, 1, 2, 2], vec![1.0; 8]),
    ];
    let message = run_graph(&maker.to_json(), &inputs).unwrap_err();
    assert!(message.contains("is larger than the"), "{message}");
}

#[test]
fn repeated_outputs_count_towards_the_memory_limit() {
    let mut maker = GraphBuilder::new(&[json!([1])]);
    let shape = json!([1 << 18]);
    let args = json!([{"value": 0}, shape]);
    let wide = maker.add("broadcast_to", &args, &[("float32", shape)]);
    for _ in 0..4 {
        maker.mark_output(wide);
    }
    let message = run_graph(&maker.to_json(), &[(&[1], vec![0.0])]).unwrap_err();
    assert!(message.contains("4194304 for results"), "{message}");
}

#[test]
fn extreme_diagonals_and_shifts_do_not_overflow() {
    let mut maker = GraphBuilder::new(&[json!([1, 3])]);
    let args = json!([{"value": 0}]);
    let made = maker.add("triu", &args, &[("float32", json!([1, 3]))]);
    maker.option("k", json!(i64::MIN));
    maker.mark_output(made);
    // The value 2 * (2^63 - 1) is 2 more than a multiple of 3.
    let args = json!([{"value": 0}, [i64::MAX, i64::MAX]]);
    let made = maker.add("roll", &args, &[("float32", json!([1, 3]))]);
    maker.mark_output(made);
    let found = run_graph(&maker.to_json(), &[(&[1, 3], vec![1.0, 2.0, 3.0])]).unwrap();
    assert_eq!(found[0].values.as_f32(), Some(&[1.0, 2.0, 3.0][..]));
    assert_eq!(found[1].values.as_f32(), Some(&[2.0, 3.0, 1.0][..]));
}

#[test]
fn a_step_along_an_axis_of_length_1_may_have_any_size() {
    let mut maker = GraphBuilder::new(&[json!([2, 3, 2])]);
    let key = json!([{"ellipsis": true}, {"slice": [null, null, i64::MAX]}, {"slice": [null, null, null]}]);
    let args = json!([{"value": 0}, key]);
    let made = maker.add("index", &args, &[("float32", json!([2, 1, 2]))]);
    maker.mark_output(made);
    let numbers = (0_u8..12).map(f32::from).collect();
    let found = run_graph(&maker.to_json(), &[(&[2, 3, 2], numbers)]).unwrap();
    assert_eq!(found[0].values.as_f32(), Some(&[0.0, 1.0, 6.0, 7.0][..]));
}

#[test]
fn the_graph_of_the_corruption_test_runs_unchanged() {
    let inputs = [
        (&[2, 4, 6][..], vec![0.5; 48]),
        (&[4, 2, 3], vec![0.25; 24]),
    ];
    assert_eq!(run_graph(&varied_graph(), &inputs).unwrap().len(), 2);
}

#[test]
fn lists_longer_than_the_number_of_axes_are_an_error() {
    let ones = json!(vec![1; 100_000]);
    let message = chain_error(&[1], &[("tile", json!([ones]), "float32", json!([1]))]);
    assert!(
        message.contains("repetitions: expected at most 16 numbers, got 100000"),
        "{message}"
    );
    let key = json!([vec![json!({"newaxis": true}); 100_000]]);
    let message = chain_error(&[1], &[("index", key, "float32", json!([1]))]);
    assert!(
        message.contains("key: expected at most 32 parts"),
        "{message}"
    );
}
