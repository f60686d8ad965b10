//! Tests that every operation in the table is implemented.

use serde_json::json;

use super::{GraphBuilder, run_graph};
use crate::graph::signature::Signature;
use crate::graph::table::SIGNATURES;

#[test]
fn each_operation_of_the_table_is_implemented() {
    for signature in SIGNATURES {
        let messages = ["float32", "int64", "bool"].map(|dtype| call_error(signature, dtype));
        let is_unknown = |message: &String| message.contains("not defined for");
        assert!(!messages.iter().all(is_unknown), "{}", messages[0]);
    }
}

/// Returns the error of a call in which all arguments are the same array. Most calls fail
/// because the arguments are invalid, but an operation that is not implemented fails with
/// the message "not defined for".
fn call_error(signature: &Signature, dtype: &str) -> String {
    let shape = json!([2, 2]);
    let mut maker = GraphBuilder::new(std::slice::from_ref(&shape));
    let kind = json!({"dtype": dtype});
    let args = json!([{"value": 0}, kind]);
    let x = maker.add("astype", &args, &[(dtype, shape.clone())]);
    let args = json!(vec![json!({"value": x}); signature.arguments.len()]);
    let outputs = vec![(dtype, shape); signature.results.max(1)];
    let made = maker.add(signature.name, &args, &outputs);
    maker.mark_output(made);
    let found = run_graph(&maker.to_json(), &[(&[2, 2], vec![1.0; 4])]);
    found.err().unwrap_or_default()
}
