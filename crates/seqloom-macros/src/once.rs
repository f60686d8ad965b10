//! Functions of `f32` and `f64` that are compiled in their own crate.

use proc_macro::{Group, TokenStream, TokenTree};

use crate::function::{
    Function, fill_template, identifier, is_identifier, join, numbered, parse, tokens_of, typed,
};

/// The generic function, one instance for each type, and a wrapper that chooses an
/// instance. Instances are not generic, so they are compiled in the crate that defines
/// them.
const TEMPLATE: &str = "
__head fn __name<__generics>(__parameters) -> __output {
    fn generic<__generics>(__originals) -> __output { __body }
    struct Both;
    impl Instances for Both {
        type Arguments<'a, T: Float> = (__kinds);
        type Output = __output;
        #[inline(never)]
        fn single((__names): Self::Arguments<'_, f32>) -> __output { generic::<f32>(__names) }
        #[inline(never)]
        fn double((__names): Self::Arguments<'_, f64>) -> __output { generic::<f64>(__names) }
    }
    T::call::<Both>((__names))
}";

/// Expands `compiled_once`. Returns a compiler error if the item is not a function.
pub(crate) fn rewrite(item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    parse(&tokens).map_or_else(not_a_function, with_instances)
}

/// Returns code that makes the compiler report an error.
fn not_a_function() -> TokenStream {
    let error = "compile_error!(\"compiled_once expects a function\");";
    error.parse().unwrap_or_default()
}

fn with_instances(function: Function) -> TokenStream {
    let (patterns, kinds): (Vec<_>, Vec<_>) = function.parameters.into_iter().unzip();
    let names = numbered("argument", kinds.len());
    let lasting = kinds.iter().map(|kind| with_lifetime(kind));
    let parts = [
        ("__head", function.head),
        ("__name", vec![function.name]),
        ("__generics", join(function.generics)),
        ("__parameters", join(typed(&names, &kinds))),
        ("__originals", join(typed(&patterns, &kinds))),
        ("__output", function.output),
        ("__kinds", join(lasting)),
        ("__names", join(names)),
        ("__body", function.body),
    ];
    fill_template(TEMPLATE.parse().unwrap_or_default(), &parts)
}

/// Returns a type with its elided lifetimes replaced by `'a`.
fn with_lifetime(kind: &[TokenTree]) -> Vec<TokenTree> {
    let lifetime: TokenStream = "'a".parse().unwrap_or_default();
    let mut tokens = Vec::with_capacity(kind.len());
    let mut is_quoted = false;
    for token in kind {
        match token {
            TokenTree::Group(group) => {
                let inside = with_lifetime(&tokens_of(&group.stream()));
                let group = Group::new(group.delimiter(), inside.into_iter().collect());
                tokens.push(TokenTree::Group(group));
            }
            token if is_quoted && is_identifier(token, "_") => tokens.push(identifier("a")),
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
