//! One-hot arrays back to sequences.

use seqloom_core::Result;

use super::OneHotLayout;
use crate::LetterTable;

/// The letters of each row of a C-contiguous array.
///
/// The largest channel names the letter. Channels that share the largest value are read as
/// the ambiguity code that stands for just them. A position of zeros, or one that no code stands
/// for, becomes the code for any letter (`N`, `X`), or `-` in an alphabet that has none.
pub fn decode(letters: &LetterTable, array: &[f32], layout: OneHotLayout) -> Result<Vec<Vec<u8>>> {
    let width = letters.members().len();
    layout.check(width, array.len())?;
    let size = layout.length() * width;
    let rows = (0..layout.sequences()).map(|index| &array[index * size..][..size]);
    Ok(rows.map(|row| decode_one(letters, row, layout)).collect())
}

fn decode_one(letters: &LetterTable, row: &[f32], layout: OneHotLayout) -> Vec<u8> {
    let width = letters.members().len();
    let at = |position, channel| row[layout.position(position, channel, width)];
    (0..layout.length())
        .map(|position| letter(letters, |channel| at(position, channel)))
        .collect()
}

fn letter(letters: &LetterTable, number: impl Fn(usize) -> f32) -> u8 {
    let members = letters.members();
    let largest = (0..members.len()).map(&number).fold(0.0, f32::max);
    if largest <= 0.0 {
        return any(letters);
    }
    let is_largest = |channel: usize| number(channel) >= largest;
    let mut found = (0..members.len()).filter(|channel| is_largest(*channel));
    match (found.next(), found.next()) {
        (Some(only), None) => members[only],
        _ => code(letters, is_largest),
    }
}

/// The ambiguity code that stands for just these channels.
fn code(letters: &LetterTable, holds: impl Fn(usize) -> bool) -> u8 {
    let fits = |stands_for: &[u8]| {
        let mut members = letters.members().iter().enumerate();
        members.all(|(channel, member)| stands_for.contains(member) == holds(channel))
    };
    let mut codes = letters.ambiguities().iter();
    codes
        .find(|(_, members)| fits(members))
        .map_or_else(|| any(letters), |(code, _)| *code)
}

/// The code that stands for the most members.
fn any(letters: &LetterTable) -> u8 {
    let codes = letters.ambiguities().iter();
    codes
        .max_by_key(|(_, members)| members.len())
        .map_or(b'-', |(code, _)| *code)
}
