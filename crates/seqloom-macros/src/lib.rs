//! The attribute macros of seqloom: for items that Python uses, and for functions that
//! are compiled separately for each instruction set.

mod function;
mod once;
mod vectorized;

use proc_macro::{TokenStream, TokenTree};

/// Compiles a function separately for each instruction set. A function `dispatch` in
/// scope, such as `seqloom_core::simd::dispatch`, chooses the instruction set of a
/// call.
///
/// If the function has a generic type `S: Simd`, the parameter of type `S` is the
/// instruction set, and callers omit this parameter. All functions that the function
/// calls must be inlined. Functions that are not inlined are compiled for the baseline
/// instruction set, without wide vectors. The types of parameters must not contain
/// named lifetimes.
#[proc_macro_attribute]
pub fn vectorized(_: TokenStream, item: TokenStream) -> TokenStream {
    vectorized::expand_vectorized(item)
}

/// Compiles a function that is generic over `T: Float` for `f32` and `f64` in its own
/// crate. Without the attribute `compiled_once`, each crate that calls the function
/// would compile the function again.
///
/// The traits `Instances` and `Float` must be in scope. The function must be generic
/// over `T` only.
#[proc_macro_attribute]
pub fn compiled_once(_: TokenStream, item: TokenStream) -> TokenStream {
    once::expand_compiled_once(item)
}

/// Exports a function, a class (`struct`) or its methods (`impl`) to Python. If the
/// feature `stubs` is enabled, the stub generator receives the item too. The arguments
/// of the attribute are passed to `pyclass`.
#[proc_macro_attribute]
pub fn python_export(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (stub, border) = match item_keyword(&item).as_str() {
        "struct" => (
            "pyclass",
            format!("pyclass({arguments}, module = \"seqloom._rust._native\")"),
        ),
        "impl" => ("pymethods", "pymethods".to_owned()),
        _ => (
            "pyfunction(module = \"seqloom._rust._native\")",
            "pyfunction".to_owned(),
        ),
    };
    let attributes = format!(
        "#[cfg_attr(feature = \"stubs\", ::pyo3_stub_gen::derive::gen_stub_{stub})]\n\
         #[::pyo3::{border}]"
    );
    let attributes: Result<TokenStream, _> = attributes.replace("(,", "(").parse();
    attributes.into_iter().flatten().chain(item).collect()
}

/// Returns the keyword that defines the kind of an item.
fn item_keyword(item: &TokenStream) -> String {
    let words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let mut kinds = words.filter(|word| matches!(word.as_str(), "fn" | "struct" | "impl"));
    kinds.next().unwrap_or_default()
}
