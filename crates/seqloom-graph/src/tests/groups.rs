//! Tests that the results of fused groups and of separate operations are bitwise equal.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ExportFixture, GraphBuilder, run_graph, run_poisoned};

/// A value of a graph: its number, its shape, and whether it is boolean.
#[derive(Clone)]
struct RandomValue {
    number: u64,
    shape: [usize; 2],
    is_bool: bool,
}

/// The index of an operation, and the two values that it reads.
type RandomIndices = (usize, usize, usize);

const UNARY_OPERATIONS: [&str; 8] = [
    "relu", "gelu", "silu", "sigmoid", "exp", "negative", "square", "softplus",
];
const BINARY_OPERATIONS: [&str; 6] = ["add", "subtract", "multiply", "divide", "maximum", "pow"];

/// The name, the arguments and the result shape of an operation, and whether the result is
/// boolean.
type RandomOperation = (&'static str, Value, [usize; 2], bool);

/// Applies the operation with this index to two values, or returns `None` if the
/// operation does not support these values.
fn choose_operation(
    kind: usize,
    [x, y]: [&RandomValue; 2],
    boolean: Option<&RandomValue>,
) -> Option<RandomOperation> {
    let alike = y.shape == x.shape || y.shape == [x.shape[0], 1];
    let (a, b) = (json!({"value": x.number}), json!({"value": y.number}));
    Some(match kind {
        it @ 0..8 => (UNARY_OPERATIONS[it], json!([a]), x.shape, false),
        it @ 8..14 if alike => (BINARY_OPERATIONS[it - 8], json!([a, b]), x.shape, false),
        14 if alike => ("greater", json!([a, b]), x.shape, true),
        15 => ("multiply", json!([a, 0.7]), x.shape, false),
        16 => {
            let boolean = boolean.filter(|boolean| boolean.shape == x.shape)?;
            let args = json!([{"value": boolean.number}, a, -1.5]);
            ("where", args, x.shape, false)
        }
        17 => {
            let shape = [x.shape[1], x.shape[0]];
            ("matrix_transpose", json!([a]), shape, false)
        }
        18 => ("sum", json!([a, 1, null, true]), [x.shape[0], 1], false),
        _ => return None,
    })
}

/// Returns a graph of random operations on two matrices; its last values are the
/// outputs.
fn random_graph(draws: &[RandomIndices]) -> GraphBuilder {
    let mut maker = GraphBuilder::new(&[json!([3, 5]), json!([3, 1])]);
    let float = |number, shape| RandomValue {
        number,
        shape,
        is_bool: false,
    };
    let mut values = vec![float(0, [3, 5]), float(1, [3, 1])];
    for &(kind, first, second) in draws {
        let floats: Vec<&RandomValue> = values.iter().filter(|value| !value.is_bool).collect();
        let pair = [first, second].map(|at| floats[at % floats.len()]);
        let boolean = values.iter().rfind(|value| value.is_bool);
        let Some((name, args, shape, is_bool)) = choose_operation(kind, pair, boolean) else {
            continue;
        };
        let dtype = if is_bool { "bool" } else { "float32" };
        let number = maker.add(name, &args, &[(dtype, json!(shape))]);
        values.push(RandomValue {
            number,
            shape,
            is_bool,
        });
    }
    let last = values.iter().rev().take(3);
    last.for_each(|value| maker.mark_output(value.number));
    maker
}

fn sine_wave(count: u16) -> Vec<f32> {
    (0..count).map(|at| (f32::from(at) * 0.7).sin()).collect()
}

proptest! {
    #[test]
    fn a_group_gives_the_same_bits_as_separate_operations(
        draws in prop::collection::vec((0_usize..20, 0_usize..9, 0_usize..9), 1..24),
        cut in 0_usize..24,
    ) {
        let alone = random_graph(&draws).to_json();
        let count = alone["operations"].as_array().unwrap().len();
        prop_assume!(count > 0);
        let cut = cut % count;
        let ranges = [[0, cut], [cut, count]];
        let groups: Vec<_> = ranges.into_iter().filter(|[first, end]| first < end).collect();
        let mut grouped = alone.clone();
        grouped["groups"] = json!(groups);
        let inputs = [(&[3, 5][..], sine_wave(15)), (&[3, 1], sine_wave(3))];
        let bits = |arrays: Result<Vec<crate::Array>, String>| format!("{:?}", arrays.unwrap());
        let wanted = bits(run_graph(&alone, &inputs));
        prop_assert_eq!(&bits(run_graph(&grouped, &inputs)), &wanted);
        prop_assert_eq!(&bits(run_poisoned(&grouped, &inputs)), &wanted);
    }
}

fn groups_error(groups: &Value) -> String {
    let mut graph = random_graph(&[(0, 0, 0), (1, 2, 0), (2, 3, 0)]).to_json();
    graph["groups"] = groups.clone();
    ExportFixture::new(&graph, &[])
        .open()
        .map(|_| ())
        .unwrap_err()
}

#[test]
fn groups_that_overlap_or_exceed_the_operations_are_an_error() {
    for groups in [
        json!([[0, 2], [1, 3]]),
        json!([[0, 4]]),
        json!([[2, 2]]),
        json!([[0, 2.5]]),
        json!([[-1, 2]]),
        json!([[0]]),
        json!([7]),
    ] {
        let message = groups_error(&groups);
        assert!(message.contains("groups: "), "{message}");
    }
    assert!(groups_error(&json!({})).contains("groups: expected a list"));
}
