//! Tests that unused memory is never read.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{GraphBuilder, run_graph, run_poisoned};

/// A random operation on arrays of shape 3 x 4: its index, and the indices of its operands.
type OperationChoice = (u8, prop::sample::Index, prop::sample::Index);

/// Returns a graph in which all arrays have shape 3 x 4, in C or transposed order.
fn random_graph(choices: &[OperationChoice], outputs: &[prop::sample::Index]) -> Value {
    let mut maker = GraphBuilder::new(&[json!([3, 4])]);
    let mut known = vec![0];
    for (which, one, other) in choices {
        let (x, y) = (*one.get(&known), *other.get(&known));
        let value = add_operation(
            &mut maker,
            *which,
            &json!({"value": x}),
            &json!({"value": y}),
        );
        known.push(value);
    }
    for output in outputs {
        maker.mark_output(*output.get(&known));
    }
    maker.to_json()
}

/// Adds an operation whose result has shape 3 x 4.
fn add_operation(maker: &mut GraphBuilder, which: u8, x: &Value, y: &Value) -> u64 {
    let mut add =
        |name: &str, args: &Value, shape: Value| maker.add(name, args, &[("float32", shape)]);
    let shape = json!([3, 4]);
    match which % 7 {
        0 => add("add", &json!([x, y]), shape),
        1 => add("multiply", &json!([x, 0.5]), shape),
        2 => add("relu", &json!([x]), shape),
        3 => {
            let both = add("concat", &json!([[x, y]]), json!([6, 4]));
            let key = json!([{"slice": [1, 4, null]}]);
            add("index", &json!([{"value": both}, key]), shape)
        }
        4 => {
            let transposed = add("permute_dims", &json!([x, [1, 0]]), json!([4, 3]));
            add("reshape", &json!([{"value": transposed}, [3, 4]]), shape)
        }
        5 => subtract_reduction(maker, "max", &json!([x]), y),
        _ => {
            let wide = add("broadcast_to", &json!([x, [2, 3, 4]]), json!([2, 3, 4]));
            let mean = add("mean", &json!([{"value": wide}]), shape);
            maker.option("axis", json!(0));
            mean
        }
    }
}

/// Adds a reduction over columns, and subtracts its result from the array.
fn subtract_reduction(maker: &mut GraphBuilder, name: &str, args: &Value, from: &Value) -> u64 {
    let total = maker.add(name, args, &[("float32", json!([4]))]);
    maker.option("axis", json!(0));
    let args = json!([from, {"value": total}]);
    maker.add("subtract", &args, &[("float32", json!([3, 4]))])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn results_do_not_depend_on_unused_memory(
        choices in prop::collection::vec(any::<OperationChoice>(), 1..40),
        outputs in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let graph = random_graph(&choices, &outputs);
        let x: Vec<f32> = (0..12_u8).map(|i| f32::from(i) - 5.5).collect();
        let inputs = [(&[3, 4][..], x)];
        let expected = run_graph(&graph, &inputs).unwrap();
        let numbers = expected.iter().flat_map(|array| array.values.as_f32().unwrap());
        let is_finite = numbers.into_iter().all(|x| x.is_finite());
        prop_assert!(is_finite);
        prop_assert_eq!(expected, run_poisoned(&graph, &inputs).unwrap());
    }
}
