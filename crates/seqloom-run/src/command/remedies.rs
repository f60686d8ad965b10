//! Options of Python that an error names, as this command has them.

/// What readers say in Python, and what is typed here.
const OPTIONS: [(&str, &str); 2] = [
    (
        "whitespace=\"strip\" (--whitespace strip)",
        "--whitespace strip",
    ),
    ("comments=\"skip\" (--comments skip)", "--comments skip"),
];
/// Faults, and what helps.
const REMEDIES: [(&str, &str); 2] = [
    (
        "expected an id after",
        "; --ids number takes its number as the id",
    ),
    (
        "expected a line of letters (it may be empty)",
        "; write an empty line for no letters",
    ),
];

/// An error's text with the options that help.
pub(super) fn named(error: &str) -> String {
    let mut text = error.to_owned();
    for (fault, remedy) in REMEDIES {
        if error.contains(fault) {
            text.push_str(remedy);
        }
    }
    for (python, shell) in OPTIONS {
        text = text.replace(python, shell);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_python_is_named_as_it_is_typed() {
        let text = named(
            "a.fa: found a space; whitespace=\"strip\" (--whitespace strip) leaves blanks out",
        );
        assert_eq!(
            text,
            "a.fa: found a space; --whitespace strip leaves blanks out"
        );
        let text = named("a.fa: expected an id after >");
        assert_eq!(
            text,
            "a.fa: expected an id after >; --ids number takes its number as the id"
        );
    }
}
