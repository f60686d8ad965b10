//! Decodes one-hot arrays into sequences.

use seqloom_core::Result;

use super::OneHotLayout;
use crate::LetterTable;

/// Returns the decoded sequence of each row of a C-contiguous array.
///
/// At each position, the residue whose channel has the largest value is returned. If
/// several channels have the largest value, the ambiguity code for exactly these
/// residues is returned. A position without a matching ambiguity code, or with zeros
/// only, becomes `N` or `X`, or `-` if the alphabet has no ambiguity codes.
pub fn decode(letters: &LetterTable, array: &[f32], layout: OneHotLayout) -> Result<Vec<Vec<u8>>> {
    let width = letters.residues().len();
    layout.check_sizes(width, array.len())?;
    let size = layout.length() * width;
    let rows = (0..layout.sequences()).map(|index| &array[index * size..][..size]);
    Ok(rows.map(|row| decode_row(letters, row, layout)).collect())
}

fn decode_row(letters: &LetterTable, row: &[f32], layout: OneHotLayout) -> Vec<u8> {
    let width = letters.residues().len();
    let at = |position, channel| row[layout.element_offset(position, channel, width)];
    (0..layout.length())
        .map(|position| decode_position(letters, |channel| at(position, channel)))
        .collect()
}

fn decode_position(letters: &LetterTable, number: impl Fn(usize) -> f32) -> u8 {
    let members = letters.residues();
    let largest = (0..members.len()).map(&number).fold(0.0, f32::max);
    if largest <= 0.0 {
        return widest_ambiguity_code(letters);
    }
    let is_largest = |channel: usize| number(channel) >= largest;
    let mut found = (0..members.len()).filter(|channel| is_largest(*channel));
    match (found.next(), found.next()) {
        (Some(only), None) => members[only],
        _ => exact_ambiguity_code(letters, is_largest),
    }
}

/// Returns the ambiguity code for exactly the residues of these channels.
fn exact_ambiguity_code(letters: &LetterTable, holds: impl Fn(usize) -> bool) -> u8 {
    let fits = |stands_for: &[u8]| {
        let mut members = letters.residues().iter().enumerate();
        members.all(|(channel, member)| stands_for.contains(member) == holds(channel))
    };
    let mut codes = letters.ambiguities().iter();
    codes
        .find(|(_, members)| fits(members))
        .map_or_else(|| widest_ambiguity_code(letters), |(code, _)| *code)
}

/// Returns the ambiguity code that represents the most residues.
fn widest_ambiguity_code(letters: &LetterTable) -> u8 {
    let codes = letters.ambiguities().iter();
    codes
        .max_by_key(|(_, members)| members.len())
        .map_or(b'-', |(code, _)| *code)
}
