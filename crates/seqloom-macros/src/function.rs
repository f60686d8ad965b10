//! Parsing of functions, and assembly of tokens.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

pub(crate) type Tokens = Vec<TokenTree>;

/// The parts of a function.
pub(crate) struct Function {
    /// The attributes and the visibility.
    pub(crate) head: Tokens,
    pub(crate) name: TokenTree,
    pub(crate) generics: Vec<Tokens>,
    /// The patterns and types of the parameters.
    pub(crate) parameters: Vec<(Tokens, Tokens)>,
    pub(crate) output: Tokens,
    pub(crate) body: Tokens,
}

/// Parses a function, or returns `None` if the tokens are not a function.
pub(crate) fn parse_function(tokens: &[TokenTree]) -> Option<Function> {
    let keyword = tokens.iter().position(|token| is_identifier(token, "fn"))?;
    let mut angles = BracketDepth::default();
    let is_list =
        |token: &TokenTree| angles.process_token(token) && is_group(token, Delimiter::Parenthesis);
    let arguments = keyword + tokens[keyword..].iter().position(is_list)?;
    let (body, _) = tokens.split_last()?;
    let generics = &tokens[keyword + 2..arguments];
    let unit = TokenTree::Group(Group::new(Delimiter::Parenthesis, TokenStream::new()));
    let output = tokens.get(arguments + 3..tokens.len() - 1);
    Some(Function {
        head: tokens[..keyword].to_vec(),
        name: tokens[keyword + 1].clone(),
        generics: split_at_commas(
            generics
                .get(1..generics.len().max(2) - 1)
                .unwrap_or_default(),
        ),
        parameters: split_at_commas(&group_tokens(&tokens[arguments]))
            .iter()
            .map(|one| split_parameter(one))
            .collect(),
        output: output.map_or_else(|| vec![unit], <[_]>::to_vec),
        body: group_tokens(body),
    })
}

/// Returns `count` numbered names.
pub(crate) fn numbered(name: &str, count: usize) -> Vec<Tokens> {
    (0..count)
        .map(|number| vec![new_identifier(&format!("{name}{number}"))])
        .collect()
}

pub(crate) fn to_tokens(stream: &TokenStream) -> Tokens {
    stream.clone().into_iter().collect()
}

/// Returns parameters with these names and types.
pub(crate) fn to_parameters(names: &[Tokens], kinds: &[Tokens]) -> Vec<Tokens> {
    let colon = to_tokens(&":".parse().unwrap_or_default());
    let pairs = names.iter().zip(kinds);
    pairs
        .map(|(name, kind)| [&name[..], &colon, kind].concat())
        .collect()
}

/// Replaces placeholders in a template by tokens.
pub(crate) fn fill_template(template: TokenStream, parts: &[(&str, Tokens)]) -> TokenStream {
    let fill_one = |token: TokenTree| -> TokenStream {
        if let TokenTree::Group(group) = &token {
            let filled = fill_template(group.stream(), parts);
            return TokenTree::Group(Group::new(group.delimiter(), filled)).into();
        }
        let part = parts.iter().find(|(name, _)| is_identifier(&token, name));
        part.map_or_else(
            || token.into(),
            |(_, tokens)| tokens.iter().cloned().collect(),
        )
    };
    template.into_iter().flat_map(fill_one).collect()
}

/// The number of open angle brackets.
#[derive(Default)]
struct BracketDepth {
    depth: i32,
    was_minus: bool,
}

impl BracketDepth {
    /// Processes a token, and returns true if no angle bracket is open after the token.
    fn process_token(&mut self, token: &TokenTree) -> bool {
        let is = |wanted: char| matches!(token, TokenTree::Punct(mark) if mark.as_char() == wanted);
        self.depth += i32::from(is('<')) - i32::from(is('>') && !self.was_minus);
        self.was_minus = is('-');
        self.depth == 0
    }
}

/// Splits tokens at the commas outside angle brackets.
fn split_at_commas(tokens: &[TokenTree]) -> Vec<Tokens> {
    let mut angles = BracketDepth::default();
    let is_comma = |token: &TokenTree| {
        let is_outside = angles.process_token(token);
        is_outside && matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')
    };
    let parts = tokens.split(is_comma).map(<[_]>::to_vec);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the pattern and the type of a parameter.
fn split_parameter(parameter: &[TokenTree]) -> (Tokens, Tokens) {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    let colon = parameter.iter().position(is_colon).unwrap_or(0);
    (parameter[..colon].to_vec(), parameter[colon + 1..].to_vec())
}

/// Joins lists of tokens with commas.
pub(crate) fn join_tokens(lists: impl IntoIterator<Item = Tokens>) -> Tokens {
    let comma: TokenStream = ",".parse().unwrap_or_default();
    lists
        .into_iter()
        .flat_map(|list| list.into_iter().chain(comma.clone()))
        .collect()
}

fn group_tokens(token: &TokenTree) -> Tokens {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

pub(crate) fn is_identifier(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word.to_string() == wanted)
}

pub(crate) fn new_identifier(name: &str) -> TokenTree {
    TokenTree::Ident(Ident::new(name, Span::call_site()))
}
