//! Counts of records that break a rule of the format, but have a certain meaning.

/// One kind of broken rule: its count, and where it was found first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// The name of the kind, such as `undeclared_contig`.
    pub kind: &'static str,
    /// The number of occurrences.
    pub count: u64,
    /// The line of the first occurrence; in BCF, the number of the record.
    pub line: u64,
    /// The text of the first occurrence.
    pub example: String,
}

/// The broken rules of a file, in the order of their first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariantReport {
    /// One entry for each kind of broken rule.
    pub oddities: Vec<Oddity>,
}

/// The maximum number of bytes of an example.
const MAX_EXAMPLE_BYTES: usize = 60;

impl VariantReport {
    /// Counts an occurrence.
    pub fn count(&mut self, kind: &'static str, line: u64, example: &[u8]) {
        if let Some(oddity) = self.oddities.iter_mut().find(|oddity| oddity.kind == kind) {
            oddity.count += 1;
            return;
        }
        self.oddities.push(Oddity {
            kind,
            count: 1,
            line,
            example: shorten(example),
        });
    }
}

/// Returns the beginning of a text for a message.
pub(crate) fn shorten(text: &[u8]) -> String {
    match text.get(..MAX_EXAMPLE_BYTES) {
        Some(start) if text.len() > MAX_EXAMPLE_BYTES => {
            format!("{}...", String::from_utf8_lossy(start))
        }
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}
