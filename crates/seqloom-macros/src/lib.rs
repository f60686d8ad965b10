//! The attributes of seqloom's crates: of items that Python sees, and of functions that are
//! compiled anew for each instruction set.

mod function;
mod once;
mod vectorized;

use proc_macro::{TokenStream, TokenTree};

/// Compiles a function anew for each instruction set. A call runs it on the one that the
/// function `dispatch`, which must be in scope, chooses; as `seqloom_core::simd::dispatch` does.
///
/// A parameter of the type `S`, with the generic `S: Simd`, is the instruction set; callers
/// leave it out. What the function calls must be inlined into it: otherwise it is compiled for
/// the baseline, without wide vectors. Types of parameters name no lifetimes.
#[proc_macro_attribute]
pub fn vectorized(_: TokenStream, item: TokenStream) -> TokenStream {
    vectorized::rewrite(item)
}

/// Compiles a function of any `T: Float` for `f32` and for `f64` in the crate that it is written in,
/// where otherwise each crate that calls it would compile it again.
///
/// The trait `Instances` and `Float` must be in scope. The function is generic over `T` alone.
#[proc_macro_attribute]
pub fn compiled_once(_: TokenStream, item: TokenStream) -> TokenStream {
    once::rewrite(item)
}

/// Shows a function, a class (`struct`) or its methods (`impl`) to Python, and describes it to
/// the stub generator where the feature `stubs` asks for it. Arguments go to `pyclass`.
#[proc_macro_attribute]
pub fn native(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (stub, border) = match kind(&item).as_str() {
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

/// The keyword that says what an item is.
fn kind(item: &TokenStream) -> String {
    let words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    let mut kinds = words.filter(|word| matches!(word.as_str(), "fn" | "struct" | "impl"));
    kinds.next().unwrap_or_default()
}
