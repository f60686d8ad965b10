//! Access to the fields of a JSON object, with errors that name the field.

use std::path::{Path, PathBuf};

use seqloom_core::{Error, Result, error::Fault};
use serde_json::{Number, Value};

/// A JSON object, and its location in a file for error messages.
#[derive(Clone, Debug)]
pub(crate) struct JsonObject<'a> {
    value: &'a Value,
    path: PathBuf,
    place: String,
}

impl<'a> JsonObject<'a> {
    /// Creates an accessor for the outermost object of a file.
    pub(crate) fn new(path: &Path, value: &'a Value) -> Self {
        Self {
            value,
            path: path.to_path_buf(),
            place: String::new(),
        }
    }

    /// Returns a field that is itself an object.
    pub(crate) fn object(&self, key: &str) -> Result<Self> {
        let value = self.get(key, "an object", |value| value.is_object().then_some(value))?;
        Ok(Self {
            value,
            path: self.path.clone(),
            place: self.name(key),
        })
    }

    pub(crate) fn text(&self, key: &str) -> Result<&'a str> {
        self.get(key, "a text", Value::as_str)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool> {
        self.get(key, "true or false", Value::as_bool)
    }

    /// Returns a string field, or `None` if the field is missing or null.
    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.text(key).map(Some),
        }
    }

    /// Returns a field that is a non-negative integer.
    pub(crate) fn size(&self, key: &str) -> Result<usize> {
        self.get(key, "a whole number", |value| {
            value.as_u64().and_then(|size| usize::try_from(size).ok())
        })
    }

    /// Returns a field that is a list of strings.
    #[cfg(feature = "genotypes")]
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<&'a str>> {
        self.get(key, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    /// Returns the numbers of a field, which may be a list nested to any depth.
    pub(crate) fn numbers(&self, key: &str) -> Result<Vec<&'a Number>> {
        self.get(key, "a list of numbers", |value| {
            let mut numbers = Vec::new();
            flatten(value, &mut numbers).then_some(numbers)
        })
    }

    /// Returns an error that names the location of this object.
    pub(crate) fn fault(&self, message: impl std::fmt::Display) -> Error {
        let place = if self.place.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.place)
        };
        Error::format(&self.path, Fault::of_file(format!("{place}{message}")))
    }

    fn get<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T> {
        let Some(value) = self.value.get(key) else {
            return Err(self.fault(format!("{key:?} is missing")));
        };
        read(value).ok_or_else(|| {
            let found = shorten(value);
            self.fault(format!("{key:?} must be {expected}, found {found}"))
        })
    }

    fn name(&self, key: &str) -> String {
        if self.place.is_empty() {
            return key.to_owned();
        }
        format!("{}.{key}", self.place)
    }
}

/// Appends all numbers in a JSON value. Returns false if the value contains anything
/// but numbers and lists.
fn flatten<'a>(value: &'a Value, numbers: &mut Vec<&'a Number>) -> bool {
    match value {
        Value::Array(parts) => parts.iter().all(|part| flatten(part, numbers)),
        Value::Number(number) => {
            numbers.push(number);
            true
        }
        _ => false,
    }
}

/// The maximum number of characters of a JSON value that an error message shows.
const MAX_SHOWN_CHARACTERS: usize = 60;

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_names_file_field_and_value() {
        let value = json!({"kernel": {"k": "three"}});
        let file = JsonObject::new(Path::new("encoder.json"), &value);
        let error = file.object("kernel").unwrap().size("k").unwrap_err();
        let expected =
            "encoder.json: kernel: \"k\" must be a whole number, found \"three\"".to_owned();
        assert_eq!(error.to_string(), expected);
        let error = file.text("class").unwrap_err();
        assert_eq!(error.to_string(), "encoder.json: \"class\" is missing");
    }

    #[test]
    fn numbers_are_read_from_nested_lists() {
        let value = json!({"rows": [[0, 1.5], [2]], "odd": [[0, "1"]]});
        let file = JsonObject::new(Path::new("x"), &value);
        let rows = file.numbers("rows").unwrap();
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(rows, ["0", "1.5", "2"]);
        assert!(file.numbers("odd").is_err());
    }
}
