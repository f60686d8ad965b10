//! Random changes of single residues.

use seqloom_core::{Error, Key, Result};

use super::random::{Candidate, CandidateGroup, add_random_numbers, write_random_bytes};
use super::{AugmentedRow, Chance, Replacement};

/// The number of random bytes that are compared together. Most groups of this size
/// contain no residue to change.
const GROUP_BYTES: usize = 32;

/// Calls `act` for each residue whose random byte is at most `highest`. The argument of
/// `act` contains all random numbers of the residue.
pub(super) fn for_each_candidate(
    key: Key,
    bytes: &[u8],
    highest: u8,
    mut act: impl FnMut(Candidate),
) {
    let mut queue = CandidateQueue::new(key);
    for (first, group) in (0..).step_by(GROUP_BYTES).zip(bytes.chunks(GROUP_BYTES)) {
        if group.iter().fold(u8::MAX, |least, byte| least.min(*byte)) > highest {
            continue;
        }
        for (position, &byte) in (first..).zip(group) {
            if byte <= highest {
                queue.push(position, byte, &mut act);
            }
        }
    }
    queue.flush(&mut act);
}

/// A queue of residues that may change. The random numbers of these residues are
/// computed when a group is full.
pub(super) struct CandidateQueue {
    key: Key,
    group: CandidateGroup,
    count: usize,
}

impl CandidateQueue {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            group: CandidateGroup::default(),
            count: 0,
        }
    }

    pub(super) fn push(&mut self, position: usize, byte: u8, act: &mut impl FnMut(Candidate)) {
        self.group[self.count] = Candidate {
            position,
            number: byte.into(),
            choice: 0,
        };
        self.count += 1;
        if self.count == self.group.len() {
            self.flush(act);
        }
    }

    pub(super) fn flush(&mut self, act: &mut impl FnMut(Candidate)) {
        if self.count > 0 {
            add_random_numbers(self.key, &mut self.group);
        }
        self.group.into_iter().take(self.count).for_each(act);
        self.count = 0;
    }
}

/// An augmentation that masks random residues.
#[derive(Clone, Debug)]
pub struct Mask {
    chance: Chance,
    letter: u8,
}

impl Mask {
    /// Creates an augmentation that replaces each residue by `letter` with the given
    /// probability.
    pub fn new(chance: Chance, letter: u8) -> Self {
        Self { chance, letter }
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let Some(highest) = self.chance.highest_byte() else {
            return;
        };
        write_random_bytes(key, row.letters.len(), &mut row.bytes);
        for_each_candidate(key, &row.bytes, highest, |candidate| {
            if self.chance.occurs(candidate.number) {
                row.letters[candidate.position] = self.letter;
            }
        });
    }
}

/// The change of a residue by an augmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    Substitute,
    Delete,
    Insert,
}

/// An augmentation that randomly substitutes, deletes and inserts residues.
#[derive(Clone, Debug)]
pub struct Mutate {
    substitutions: Chance,
    /// The probability that a residue is substituted or deleted.
    losses: Chance,
    /// The probability that a residue is changed in any way.
    any_change: Chance,
    replacement: Replacement,
}

impl Mutate {
    /// Creates the augmentation. A residue has at most one change, so the probabilities must add up
    /// to at most 1.
    pub fn new(
        [substitutions, deletions, insertions]: [Chance; 3],
        replacement: Replacement,
    ) -> Result<Self> {
        let losses = substitutions.plus(deletions);
        let any_change = losses.plus(insertions);
        // Each threshold is rounded, so the sum of three thresholds may exceed 2^32 by
        // 1 even if the probabilities add up to 1.
        if any_change.threshold() > (1 << 32) + 1 {
            return Err(Error::argument(
                "rate, deletions and insertions must add up to at most 1",
            ));
        }
        Ok(Self {
            substitutions,
            losses,
            any_change,
            replacement,
        })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) {
        let Some(highest) = self.any_change.highest_byte() else {
            return;
        };
        let random = random_bytes(row, key);
        if self.any_change == self.substitutions {
            self.substitute(row, key, (&random, highest));
        } else {
            self.rebuild_row(row, key, (&random, highest));
        }
        row.bytes = random;
    }

    fn substitute(&self, row: &mut AugmentedRow, key: Key, (random, highest): (&[u8], u8)) {
        for_each_candidate(key, random, highest, |candidate| {
            if self.any_change.occurs(candidate.number) {
                let letter = &mut row.letters[candidate.position];
                *letter = self.replacement.substitute(*letter, candidate.choice);
            }
        });
    }

    fn rebuild_row(&self, row: &mut AugmentedRow, key: Key, (random, highest): (&[u8], u8)) {
        let mut copied = 0;
        row.clear_output();
        for_each_candidate(key, random, highest, |candidate| {
            if let Some(event) = self.choose_mutation(candidate.number) {
                row.copy_range(copied, candidate.position);
                self.write_change(row, event, candidate);
                copied = candidate.position + 1;
            }
        });
        row.copy_range(copied, random.len());
        row.replace_sequence();
    }

    fn choose_mutation(&self, number: u32) -> Option<Mutation> {
        let events = [
            (self.substitutions, Mutation::Substitute),
            (self.losses, Mutation::Delete),
            (self.any_change, Mutation::Insert),
        ];
        let event = events.into_iter().find(|(chance, _)| chance.occurs(number));
        event.map(|(_, event)| event)
    }

    /// Writes a changed residue. An inserted residue follows the original residue and
    /// gets the same quality.
    fn write_change(&self, row: &mut AugmentedRow, event: Mutation, candidate: Candidate) {
        let letter = row.letters[candidate.position];
        let quality = row
            .qualities
            .get(candidate.position)
            .copied()
            .unwrap_or_default();
        let choice = candidate.choice;
        match event {
            Mutation::Substitute => {
                row.append(self.replacement.substitute(letter, choice), quality, 1);
            }
            Mutation::Insert => {
                row.append(letter, quality, 1);
                row.append(self.replacement.insertion(letter, choice), quality, 1);
            }
            Mutation::Delete => {}
        }
    }
}

/// Returns one random byte for each residue. The caller must return the vector to
/// `row.bytes` for reuse.
pub(super) fn random_bytes(row: &mut AugmentedRow, key: Key) -> Vec<u8> {
    let mut random = std::mem::take(&mut row.bytes);
    write_random_bytes(key, row.letters.len(), &mut random);
    random
}
