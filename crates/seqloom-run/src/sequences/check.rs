//! Checks all records of a window before the first of them is scored.

use seqloom_core::{Error, Result, error::Fault, number::as_u64};
use seqloom_sequences::locate_residue;

use super::filler::BatchFiller;
use super::records::Records;
use crate::{encoder::Encoder, text::quote};

/// Returns the encoded length of each record, or an error if the model cannot read one
/// of them.
pub(super) fn count_positions(records: &Records, filler: &BatchFiller) -> Result<Vec<usize>> {
    let encoder = filler.encoder();
    let letters = encoder.letters();
    let count = |row: &[u8]| encoder.positions(letters.strip_stop(row).len());
    let positions: Vec<usize> = records.letters.iter().map(count).collect();
    if let Some(row) = positions.iter().position(|positions| *positions == 0) {
        return Err(short_record_error(records, encoder, row));
    }
    if let Some(row) = letters.first_rejected_row(&records.letters.rows()?) {
        return Err(residue_error(records, encoder, row)?);
    }
    let is_empty = |row: &[u8]| letters.strip_stop(row).is_empty();
    if let Some(row) = records.letters.iter().position(is_empty) {
        let name = quote(records.names.get(row));
        return Err(Error::argument(format!("the sequence {name} is empty")));
    }
    match filler.length() {
        Some(wanted) if !filler.truncates() && !encoder.counts_words() => {
            check_length(records, encoder, (&positions, wanted))?;
        }
        _ => {}
    }
    Ok(positions)
}

fn short_record_error(records: &Records, encoder: &Encoder, row: usize) -> Error {
    let letters = encoder.letters().strip_stop(records.letters.get(row)).len();
    let message = match letters {
        0 => "the sequence has no residues".to_owned(),
        _ => format!("{letters} residues are too few for the encoder"),
    };
    let (path, record) = records.locate(row);
    let name = String::from_utf8_lossy(records.names.get(row));
    let message = format!("record {record} ({name}): {message}");
    Error::format(path, Fault::of_file(message))
}

/// Returns an error with the position in the file of an invalid character.
fn residue_error(records: &Records, encoder: &Encoder, row: usize) -> Result<Error> {
    let row_alone = [as_i64(row)];
    let sequence = records.letters.select_rows(&row_alone)?;
    let Some(Error::Letter {
        position,
        letter,
        expected,
        ..
    }) = encoder.residue_error(&sequence)
    else {
        return Ok(Error::argument("no invalid residue found"));
    };
    let (path, record) = records.locate(row);
    let place = match find_residue_in_file(records, row, position) {
        Some((line, byte)) => format!("line {line}, byte {byte} of the text"),
        None => format!("residue {position}"),
    };
    let name = String::from_utf8_lossy(records.names.get(row));
    let found = quote(char::from(letter).to_string().as_bytes());
    let message = format!("record {record} ({name}), {place}: found {found}, expected {expected}");
    Ok(Error::format(path, Fault::of_file(message)))
}

/// Reads a regular file again to find the position of a residue.
fn find_residue_in_file(records: &Records, row: usize, position: usize) -> Option<(u64, u64)> {
    let (path, record) = records.locate(row);
    let found = path
        .is_file()
        .then(|| locate_residue(path, record, as_u64(position)));
    let found = found?.ok()?;
    Some((found.line, found.byte))
}

/// Returns an error if an encoded record does not have the length that the model
/// requires.
fn check_length(
    records: &Records,
    encoder: &Encoder,
    (positions, wanted): (&[usize], usize),
) -> Result<()> {
    let Some(row) = positions.iter().position(|positions| *positions != wanted) else {
        return Ok(());
    };
    let what = if encoder.has_tokens() {
        "tokens"
    } else {
        "residues"
    };
    let found = positions.get(row).copied().unwrap_or_default();
    Err(Error::argument(format!(
        "this model reads sequences of {wanted} {what}, but {} has {found}; crop all to one \
         length (parts of a genome: width={wanted} in Python, --intervals BED --length {wanted} of \
         seqloom predict), or train again on sequences of several lengths (in Python: \
         a SequenceCNNConfig without length=) for a model of any",
        quote(records.names.get(row))
    )))
}

fn as_i64(row: usize) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX)
}
