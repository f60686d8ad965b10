//! Functions that are compiled separately for each instruction set.

use proc_macro::TokenStream;

use crate::function::{
    Function, Tokens, fill_template, is_identifier, join_tokens, new_identifier, numbered,
    parse_function, to_parameters, to_tokens,
};

/// The generated code: a kernel that stores the arguments, and a call that runs the
/// kernel.
const KERNEL_TEMPLATE: &str = "
__head fn __name<__generics>(__parameters) -> __output {
    struct Arguments<__types>(__types);
    impl<__generics> ::pulp::WithSimd for Arguments<__arguments> {
        type Output = __output;
        #[inline(always)]
        fn with_simd<__bound>(self, __simd: S) -> __output {
            let Self(__patterns) = self;
            __body
        }
    }
    dispatch(Arguments(__names))
}";

/// Rewrites a function.
pub(crate) fn expand_vectorized(item: TokenStream) -> TokenStream {
    let tokens: Tokens = item.into_iter().collect();
    parse_function(&tokens).map_or_else(TokenStream::new, Function::into_kernel)
}

impl Function {
    fn into_kernel(self) -> TokenStream {
        let is_simd =
            |(_, kind): &(Tokens, Tokens)| kind.len() == 1 && is_identifier(&kind[0], "S");
        let (simd, parameters): (Vec<_>, Vec<_>) = self.parameters.into_iter().partition(is_simd);
        let simd = simd.into_iter().next().map(|(pattern, _)| pattern);
        let is_bound = |generic: &Tokens| is_identifier(&generic[0], "S");
        let (bound, generics): (Vec<_>, Vec<_>) = self.generics.into_iter().partition(is_bound);
        let bound = bound.into_iter().next().unwrap_or_else(|| {
            let bound: TokenStream = "S: ::pulp::Simd".parse().unwrap_or_default();
            to_tokens(&bound)
        });
        let (patterns, kinds): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
        let names: Vec<Tokens> = numbered("argument", kinds.len());
        let parts = [
            ("__head", self.head),
            ("__name", vec![self.name]),
            ("__generics", join_tokens(generics)),
            ("__parameters", join_tokens(to_parameters(&names, &kinds))),
            ("__output", self.output),
            ("__types", join_tokens(numbered("Type", kinds.len()))),
            ("__arguments", join_tokens(kinds)),
            ("__patterns", join_tokens(patterns)),
            ("__names", join_tokens(names)),
            ("__bound", bound),
            ("__simd", simd.unwrap_or_else(|| vec![new_identifier("_")])),
            ("__body", self.body),
        ];
        fill_template(KERNEL_TEMPLATE.parse().unwrap_or_default(), &parts)
    }
}
