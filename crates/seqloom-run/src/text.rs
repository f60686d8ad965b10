//! Formats ids, bytes and numbers for error messages.

use std::borrow::Cow;

/// Returns bytes in quotes, formatted as by `repr` in Python.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mark = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::from(mark);
    for letter in text.chars() {
        match letter {
            '\'' | '"' if letter != mark => quoted.push(letter),
            _ => quoted.extend(letter.escape_debug()),
        }
    }
    quoted.push(mark);
    quoted
}

/// Returns an id as Python displays it: bytes that are not UTF-8 become `\xff`.
pub(crate) fn escape_invalid_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    if str::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::new();
    for chunk in bytes.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            text.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
    Cow::Owned(text)
}

/// Returns a number with commas as thousands separators.
pub fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_match_python() {
        assert_eq!(quote(b"a/1"), "'a/1'");
        assert_eq!(quote(b"5'UTR"), "\"5'UTR\"");
        assert_eq!(quote(b"a\tb"), "'a\\tb'");
    }

    #[test]
    fn invalid_utf_8_is_escaped() {
        assert_eq!(&*escape_invalid_utf8("é".as_bytes()), "é".as_bytes());
        // The expected text is the output of the Python error handler
        // "backslashreplace".
        assert_eq!(&*escape_invalid_utf8(b"a\xff\xe9b"), b"a\\xff\\xe9b");
        assert_eq!(&*escape_invalid_utf8(b"\xe2\x82"), b"\\xe2\\x82");
    }

    #[test]
    fn thousands_have_commas() {
        assert_eq!(format_thousands(999), "999");
        assert_eq!(format_thousands(1_234_567), "1,234,567");
    }
}
