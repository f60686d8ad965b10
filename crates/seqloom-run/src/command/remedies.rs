//! Replaces Python options in error messages by the options of this command.

use seqloom_core::{Error, error::FaultCause};

/// Words of error messages that name a Python option, and the corresponding option of
/// this command.
const PYTHON_OPTIONS: [(&str, &str); 2] = [
    (
        "whitespace=\"strip\" (--whitespace strip)",
        "--whitespace strip",
    ),
    ("comments=\"skip\" (--comments skip)", "--comments skip"),
];

/// Returns the message of an error, with the options of this command that avoid the
/// error.
pub(super) fn with_command_options(error: &Error) -> String {
    let mut text = error.to_string();
    if let Error::Format { fault, .. } = error {
        text.push_str(match fault.cause {
            Some(FaultCause::MissingId) => "; --ids number uses the record number as the id",
            Some(FaultCause::MissingSequenceLine) => "; write an empty line for an empty sequence",
            _ => "",
        });
    }
    for (python, shell) in PYTHON_OPTIONS {
        text = text.replace(python, shell);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_core::error::Fault;
    use std::path::Path;

    fn text_of(cause: Option<FaultCause>, message: &str) -> String {
        let fault = Fault {
            cause,
            ..Fault::of_file(message)
        };
        with_command_options(&Error::format(Path::new("a.fa"), fault))
    }

    #[test]
    fn python_options_are_translated_to_command_options() {
        let message = "found a space; whitespace=\"strip\" (--whitespace strip) removes blanks";
        assert_eq!(
            text_of(None, message),
            "a.fa: found a space; --whitespace strip removes blanks"
        );
    }

    #[test]
    fn a_missing_id_names_the_option_that_numbers_records() {
        assert_eq!(
            text_of(
                Some(FaultCause::MissingId),
                "expected an id after '>', found none"
            ),
            "a.fa: expected an id after '>', found none; --ids number uses the record number as the id"
        );
    }
}
