//! One-hot arrays back to sequences.

use seqloom_core::Result;

use super::layout::Channels;
use super::{Layout, Table};

impl Table {
    /// The letters of each row of a C-contiguous array.
    ///
    /// The largest channel names the letter. Channels that share the largest
    /// value are read as the ambiguity code that stands for just them. A place
    /// of zeros, or one that no code stands for, becomes the code for any
    /// letter (`N`, `X`), or `-` in an alphabet that has none.
    pub fn decode(&self, array: &[f32], layout: Layout) -> Result<Vec<Vec<u8>>> {
        let row = layout.length() * self.width();
        let rows = layout.sequences();
        layout.check(rows, self.width(), array.len())?;
        let one = |row| self.decode_one(row, layout.channels());
        Ok((0..rows)
            .map(|index| &array[index * row..(index + 1) * row])
            .map(one)
            .collect())
    }

    fn decode_one(&self, row: &[f32], channels: Channels) -> Vec<u8> {
        let width = self.width();
        let length = row.len() / width;
        let number = |place, channel| match channels {
            Channels::First => row[channel * length + place],
            Channels::Last => row[place * width + channel],
        };
        (0..length)
            .map(|place| self.letter(|channel| number(place, channel)))
            .collect()
    }

    fn letter(&self, number: impl Fn(usize) -> f32) -> u8 {
        let largest = (0..self.width()).map(&number).fold(0.0, f32::max);
        if largest <= 0.0 {
            return self.any();
        }
        let is_largest = |channel: &usize| number(*channel) >= largest;
        let mut members = (0..self.width())
            .filter(is_largest)
            .map(|channel| self.letters()[channel]);
        match (members.next(), members.next()) {
            (Some(only), None) => only,
            _ => self.code(|channel| is_largest(&channel)),
        }
    }

    /// The ambiguity code that stands for just these channels.
    fn code(&self, holds: impl Fn(usize) -> bool) -> u8 {
        let fits = |members: &[u8]| {
            let mut letters = self.letters().iter().enumerate();
            letters.all(|(channel, letter)| members.contains(letter) == holds(channel))
        };
        let mut codes = self.alphabet().ambiguities().iter();
        codes
            .find(|(_, members)| fits(members))
            .map_or_else(|| self.any(), |(code, _)| *code)
    }

    fn any(&self) -> u8 {
        let mut codes = self.alphabet().ambiguities().iter();
        let any = codes.find(|(_, members)| members.len() == self.width());
        any.map_or(b'-', |(code, _)| *code)
    }
}
