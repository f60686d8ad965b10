//! Changes that are decided letter by letter.

use seqloom_core::{Error, Key, Result};

use super::draw::{OpenGroup, OpenLetter, bytes, settle};
use super::{AugmentedRow, Chance, Replacement};

/// The number of letters that are checked at once: in most groups nothing happens.
const GROUP: usize = 32;

/// Calls `act` for each letter whose byte `is_open`, with its 32 bits and its choice.
pub(super) fn for_each_open(key: Key, bytes: &[u8], highest: u8, mut act: impl FnMut(OpenLetter)) {
    let mut waiting = OpenQueue::new(key);
    for (first, group) in (0..).step_by(GROUP).zip(bytes.chunks(GROUP)) {
        if group.iter().fold(u8::MAX, |least, byte| least.min(*byte)) > highest {
            continue;
        }
        for (position, &byte) in (first..).zip(group) {
            if byte <= highest {
                waiting.push(position, byte, &mut act);
            }
        }
    }
    waiting.flush(&mut act);
}

/// Open letters, until there are enough to work out their details together.
pub(super) struct OpenQueue {
    key: Key,
    group: OpenGroup,
    count: usize,
}

impl OpenQueue {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            group: OpenGroup::default(),
            count: 0,
        }
    }

    pub(super) fn push(&mut self, position: usize, byte: u8, act: &mut impl FnMut(OpenLetter)) {
        self.group[self.count] = OpenLetter {
            position,
            number: byte.into(),
            choice: 0,
        };
        self.count += 1;
        if self.count == self.group.len() {
            self.flush(act);
        }
    }

    pub(super) fn flush(&mut self, act: &mut impl FnMut(OpenLetter)) {
        if self.count > 0 {
            settle(self.key, &mut self.group);
        }
        self.group.into_iter().take(self.count).for_each(act);
        self.count = 0;
    }
}

/// Hides letters.
#[derive(Clone, Debug)]
pub struct Mask {
    chance: Chance,
    letter: u8,
}

impl Mask {
    /// Puts `letter` in the position of each letter by this chance.
    pub fn new(chance: Chance, letter: u8) -> Self {
        Self { chance, letter }
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let Some(highest) = self.chance.highest_byte() else {
            return;
        };
        bytes(key, row.letters.len(), &mut row.bytes);
        for_each_open(key, &row.bytes, highest, |open| {
            if self.chance.holds(open.number) {
                row.letters[open.position] = self.letter;
            }
        });
    }
}

/// What is done to a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterEvent {
    Substitute,
    Delete,
    Insert,
}

/// Substitutes, deletes and inserts.
#[derive(Clone, Debug)]
pub struct Mutate {
    substitutions: Chance,
    /// Substitutions or deletions.
    losses: Chance,
    /// Any of the three.
    any: Chance,
    replacement: Replacement,
}

impl Mutate {
    /// At most one of the three happens to a letter; the chances add up to 1 or less.
    pub fn new(
        [substitutions, deletions, insertions]: [Chance; 3],
        replacement: Replacement,
    ) -> Result<Self> {
        let losses = substitutions.or(deletions);
        let any = losses.or(insertions);
        // Each was rounded by itself, so three that add up to 1 may be one above it.
        if any.end() > (1 << 32) + 1 {
            return Err(Error::argument(
                "rate, deletions and insertions must add up to at most 1",
            ));
        }
        Ok(Self {
            substitutions,
            losses,
            any,
            replacement,
        })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let Some(highest) = self.any.highest_byte() else {
            return;
        };
        let random = fresh_bytes(row, key);
        if self.any == self.substitutions {
            self.substitute(row, key, (&random, highest));
        } else {
            self.rebuild(row, key, (&random, highest));
        }
        row.bytes = random;
    }

    fn substitute(&self, row: &mut AugmentedRow, key: Key, (random, highest): (&[u8], u8)) {
        for_each_open(key, random, highest, |open| {
            if self.any.holds(open.number) {
                let letter = &mut row.letters[open.position];
                *letter = self.replacement.instead(*letter, open.choice);
            }
        });
    }

    fn rebuild(&self, row: &mut AugmentedRow, key: Key, (random, highest): (&[u8], u8)) {
        let mut done = 0;
        row.begin();
        for_each_open(key, random, highest, |open| {
            if let Some(event) = self.event(open.number) {
                row.copy(done, open.position);
                self.change(row, event, open);
                done = open.position + 1;
            }
        });
        row.copy(done, random.len());
        row.finish();
    }

    fn event(&self, number: u32) -> Option<LetterEvent> {
        let events = [
            (self.substitutions, LetterEvent::Substitute),
            (self.losses, LetterEvent::Delete),
            (self.any, LetterEvent::Insert),
        ];
        let found = events.into_iter().find(|(chance, _)| chance.holds(number));
        found.map(|(_, event)| event)
    }

    /// An inserted letter follows the one that it was drawn for, and has its quality.
    fn change(&self, row: &mut AugmentedRow, event: LetterEvent, open: OpenLetter) {
        let letter = row.letters[open.position];
        let quality = row
            .qualities
            .get(open.position)
            .copied()
            .unwrap_or_default();
        let choice = open.choice;
        match event {
            LetterEvent::Substitute => {
                row.put(self.replacement.instead(letter, choice), quality, 1);
            }
            LetterEvent::Insert => {
                row.put(letter, quality, 1);
                row.put(self.replacement.beside(letter, choice), quality, 1);
            }
            LetterEvent::Delete => {}
        }
    }
}

/// One random byte a letter, in memory that goes back to the row afterwards.
pub(super) fn fresh_bytes(row: &mut AugmentedRow, key: Key) -> Vec<u8> {
    let mut random = std::mem::take(&mut row.bytes);
    bytes(key, row.letters.len(), &mut random);
    random
}
