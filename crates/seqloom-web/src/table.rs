//! Scores as bytes, in the format of [`bindings`](crate::bindings).

use seqloom_core::Result;
use seqloom_run::{ScoreFormat, ScoreWriter, Scores};

/// Returns the bytes of a table; only the first table has a header line.
pub(crate) fn encode_table(columns: &[String], scores: &Scores, has_head: bool) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8 + 4 * scores.values.len() + 32 * scores.len());
    push_size(&mut bytes, scores.len());
    push_size(&mut bytes, scores.columns);
    append_floats(&mut bytes, &scores.values);
    let text = table_text(columns, scores)?;
    let head = text.iter().position(|byte| *byte == b'\n');
    let start = head.filter(|_| !has_head).map_or(0, |head| head + 1);
    bytes.extend_from_slice(text.get(start..).unwrap_or_default());
    Ok(bytes)
}

/// Returns the scores as the text of `seqloom-run`.
fn table_text(columns: &[String], scores: &Scores) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut writer = ScoreWriter::to_stream(&mut text, ScoreFormat::Tsv)?;
    writer.write(columns, scores)?;
    writer.finish()?;
    Ok(text)
}

/// Appends floats.
pub(crate) fn append_floats(bytes: &mut Vec<u8>, floats: &[f32]) {
    bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
}

fn push_size(bytes: &mut Vec<u8>, size: usize) {
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&size.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Scores {
        let mut scores = Scores {
            columns: 1,
            values: vec![0.5, 1.0],
            ..Scores::default()
        };
        scores.names.push(b"a");
        scores.names.push(b"bc");
        scores
    }

    #[test]
    fn a_table_has_its_sizes_its_scores_and_their_text() {
        let mut expected = vec![2, 0, 0, 0, 1, 0, 0, 0];
        expected.extend([0, 0, 0, 0x3F, 0, 0, 0x80, 0x3F]);
        expected.extend(b"id\tEI\na\t0.5\nbc\t1.0\n");
        assert_eq!(
            encode_table(&["EI".to_owned()], &scores(), true).unwrap(),
            expected
        );
    }

    #[test]
    fn only_the_first_table_has_a_header() {
        let table = encode_table(&["EI".to_owned()], &scores(), false).unwrap();
        assert_eq!(&table[16..], b"a\t0.5\nbc\t1.0\n");
    }
}
