//! Functions of `f32` and `f64` that are compiled in their own crate.

use proc_macro::{Group, TokenStream, TokenTree};

use crate::function::{
    Function, fill_template, is_identifier, join_tokens, new_identifier, numbered, parse_function,
    to_parameters, to_tokens,
};

/// The generic function, one instance for each type, and a wrapper that chooses an
/// instance. Instances are not generic, so they are compiled in the crate that defines
/// them.
const INSTANCES_TEMPLATE: &str = "
__head fn __name<__generics>(__parameters) -> __output {
    fn generic<__generics>(__originals) -> __output { __body }
    struct FloatInstances;
    impl Instances for FloatInstances {
        type Arguments<'a, T: Float> = (__kinds);
        type Output = __output;
        #[inline(never)]
        fn call_f32((__names): Self::Arguments<'_, f32>) -> __output { generic::<f32>(__names) }
        #[inline(never)]
        fn call_f64((__names): Self::Arguments<'_, f64>) -> __output { generic::<f64>(__names) }
    }
    T::call::<FloatInstances>((__names))
}";

/// Expands `compiled_once`. Returns a compiler error if the item is not a function.
pub(crate) fn expand_compiled_once(item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    parse_function(&tokens).map_or_else(not_a_function_error, generate_instances)
}

/// Returns code that makes the compiler report an error.
fn not_a_function_error() -> TokenStream {
    let error = "compile_error!(\"compiled_once expects a function\");";
    error.parse().unwrap_or_default()
}

fn generate_instances(function: Function) -> TokenStream {
    let (patterns, kinds): (Vec<_>, Vec<_>) = function.parameters.into_iter().unzip();
    let names = numbered("argument", kinds.len());
    let lasting = kinds.iter().map(|kind| name_lifetimes(kind));
    let parts = [
        ("__head", function.head),
        ("__name", vec![function.name]),
        ("__generics", join_tokens(function.generics)),
        ("__parameters", join_tokens(to_parameters(&names, &kinds))),
        ("__originals", join_tokens(to_parameters(&patterns, &kinds))),
        ("__output", function.output),
        ("__kinds", join_tokens(lasting)),
        ("__names", join_tokens(names)),
        ("__body", function.body),
    ];
    fill_template(INSTANCES_TEMPLATE.parse().unwrap_or_default(), &parts)
}

/// Returns a type with its elided lifetimes replaced by `'a`.
fn name_lifetimes(kind: &[TokenTree]) -> Vec<TokenTree> {
    let lifetime: TokenStream = "'a".parse().unwrap_or_default();
    let mut tokens = Vec::with_capacity(kind.len());
    let mut is_quoted = false;
    for token in kind {
        match token {
            TokenTree::Group(group) => {
                let inside = name_lifetimes(&to_tokens(&group.stream()));
                let group = Group::new(group.delimiter(), inside.into_iter().collect());
                tokens.push(TokenTree::Group(group));
            }
            token if is_quoted && is_identifier(token, "_") => tokens.push(new_identifier("a")),
            token => tokens.push(token.clone()),
        }
        is_quoted = is_punctuation(token, '\'');
        if is_punctuation(token, '&') {
            tokens.extend(lifetime.clone());
        }
    }
    tokens
}

fn is_punctuation(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
