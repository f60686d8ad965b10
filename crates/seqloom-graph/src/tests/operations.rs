//! The table of operations, compared with the code that runs them.

use serde_json::json;

use super::{Maker, run};
use crate::graph::signature::Signature;
use crate::graph::table::TABLE;

#[test]
fn each_operation_of_the_table_has_an_arm() {
    for signature in TABLE {
        let messages = ["float32", "int64", "bool"].map(|dtype| error_of(signature, dtype));
        let is_unknown = |message: &String| message.contains("it is not known of");
        assert!(!messages.iter().all(is_unknown), "{}", messages[0]);
    }
}

/// The error of a call whose arguments are all one array: few calls can be computed, but an
/// operation without an arm is one that is not known of this type.
fn error_of(signature: &Signature, dtype: &str) -> String {
    let shape = json!([2, 2]);
    let mut maker = Maker::new(std::slice::from_ref(&shape));
    let kind = json!({"dtype": dtype});
    let args = json!([{"value": 0}, kind]);
    let x = maker.add("astype", &args, &[(dtype, shape.clone())]);
    let args = json!(vec![json!({"value": x}); signature.arguments.len()]);
    let outputs = vec![(dtype, shape); signature.results.max(1)];
    let made = maker.add(signature.name, &args, &outputs);
    maker.give(made);
    let found = run(&maker.to_json(), &[(&[2, 2], vec![1.0; 4])]);
    found.err().unwrap_or_default()
}
