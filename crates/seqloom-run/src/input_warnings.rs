//! Warnings about unusual records and repeated ids. The checks and their messages are
//! those of `seqloom.infer`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use seqloom_core::number::as_u64;
use seqloom_graph::Training;

use crate::column::ByteRows;
use crate::text::{format_thousands, quote};

/// Counts for comparing the records with the training records of the model.
#[derive(Debug)]
pub(crate) struct InputWarnings {
    training: Training,
    letters: [u64; 256],
    sampled: usize,
    records: u64,
    unusual: u64,
    /// The shortest and the longest of the unusual record lengths.
    range: (u64, u64),
}

/// Counts of records by id.
#[derive(Debug, Default)]
pub(crate) struct IdCounts {
    counts: HashMap<u64, IdCount>,
    /// The first repeated id: the row where it first occurs, the id and its hash.
    repeat: Option<(usize, String, u64)>,
    repeated: u64,
}

/// The number of records that have an id, and the first row with this id.
#[derive(Debug, Default)]
struct IdCount {
    count: u64,
    first: usize,
}

/// The number of records whose residues are counted.
const MAX_COUNTED_RECORDS: usize = 1000;
/// The maximum number of different ids that are compared. The number is limited because
/// each id needs memory.
const MAX_COMPARED_IDS: usize = 1 << 20;
/// The ambiguity codes of bases.
const AMBIGUITY_CODES: &[u8] = b"RYSWKMBDHV";
/// The minimum number of residues for which the alphabet is detected.
const MIN_COUNTED_RESIDUES: u64 = 100;

impl InputWarnings {
    pub(crate) fn new(training: Training) -> Self {
        Self {
            training,
            letters: [0; 256],
            sampled: 0,
            records: 0,
            unusual: 0,
            range: (u64::MAX, 0),
        }
    }

    /// Counts the residues and the lengths of the records in a window.
    pub(crate) fn count_residues(&mut self, letters: &ByteRows) {
        for row in letters.iter() {
            let is_sampled = self.sampled < MAX_COUNTED_RECORDS;
            self.sampled += usize::from(is_sampled);
            for byte in row.iter().filter(|_| is_sampled) {
                self.letters[usize::from(*byte)] += 1;
            }
            self.records += 1;
            let length = as_u64(row.len());
            let known = self.training.lengths;
            if known.is_some_and(|(least, most)| length < least || length > most) {
                self.unusual += 1;
                self.range = (self.range.0.min(length), self.range.1.max(length));
            }
        }
    }

    /// Returns the warnings, one sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let found = [self.alphabet_warning(), self.length_warning()];
        found.into_iter().flatten().collect()
    }

    fn alphabet_warning(&self) -> Option<String> {
        let alphabet = self.training.alphabet.as_deref()?;
        let (kind, advice) = match alphabet {
            "protein" => (
                self.dna_or_rna()?.to_owned(),
                "; translate the sequences first",
            ),
            "dna" | "rna" => (self.ambiguity_warning()?, ""),
            _ => return None,
        };
        Some(format!(
            "the sequences look like {kind}, but the model was trained on {alphabet}: such scores \
             mean nothing{advice}"
        ))
    }

    /// Returns DNA or RNA if all residues belong to one of these alphabets and the
    /// number of residues is large enough.
    fn dna_or_rna(&self) -> Option<&'static str> {
        let (thymine, uracil) = (self.count(b"T"), self.count(b"U"));
        let name = if uracil > thymine { "rna" } else { "dna" };
        let total: u64 = self.letters.iter().sum();
        let known = self.count(if name == "rna" {
            b"ACGURYSWKMBDHVN"
        } else {
            b"ACGTRYSWKMBDHVN"
        });
        // The character X represents any residue in any alphabet, and is ignored.
        let counted = self.count(b"ABCDEFGHIJKLMNOPQRSTUVWYZ");
        let is_mostly = 10 * self.count(b"ACGTUN") >= 9 * counted;
        let is_clear = total >= MIN_COUNTED_RESIDUES || uracil > 0;
        (total > 0 && is_mostly && known == total && is_clear).then_some(name)
    }

    /// Returns a warning if many residues are ambiguity codes of bases.
    fn ambiguity_warning(&self) -> Option<String> {
        let (codes, total) = (
            self.count(AMBIGUITY_CODES),
            self.letters.iter().sum::<u64>(),
        );
        (4 * codes > total).then(|| {
            format!(
                "protein ({} of {} residues are of {})",
                format_thousands(codes),
                format_thousands(total),
                String::from_utf8_lossy(AMBIGUITY_CODES)
            )
        })
    }

    /// Counts residues without distinguishing upper and lower case.
    fn count(&self, letters: &[u8]) -> u64 {
        let both = |letter: &u8| {
            let places = [letter.to_ascii_uppercase(), letter.to_ascii_lowercase()];
            let counts = places.map(|it| self.letters.get(usize::from(it)).copied());
            counts.into_iter().flatten().sum::<u64>()
        };
        letters.iter().map(both).sum()
    }

    fn length_warning(&self) -> Option<String> {
        let (least, most) = self.training.lengths?;
        (self.unusual > 0).then(|| {
            format!(
                "{} of {} sequences have {} residues, but the model was trained on {}: such scores \
                 may mean nothing; cut the sequences, or train on such lengths",
                format_thousands(self.unusual),
                format_thousands(self.records),
                format_range(self.range),
                format_range((least, most)),
            )
        })
    }
}

impl IdCounts {
    /// Counts how often each id occurs in a window of records.
    pub(crate) fn count_ids(&mut self, names: &ByteRows) {
        for name in names.iter() {
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            let (hash, count) = (hasher.finish(), self.counts.len());
            if count == MAX_COMPARED_IDS && !self.counts.contains_key(&hash) {
                continue;
            }
            let id = self.counts.entry(hash).or_insert(IdCount {
                count: 0,
                first: count,
            });
            id.count += 1;
            if id.count != 2 {
                continue;
            }
            self.repeated += 1;
            let is_first = self.repeat.as_ref().is_none_or(|it| id.first < it.0);
            if is_first {
                self.repeat = Some((id.first, quote(name), hash));
            }
        }
    }

    /// Returns a warning if several records have the same id. `noun` is the plural noun
    /// for the records.
    pub(crate) fn duplicate_id_warning(&self, noun: &str) -> Option<String> {
        let (_, name, hash) = self.repeat.as_ref()?;
        let more = match self.repeated - 1 {
            0 => String::new(),
            others => format!(
                ", and {} more ids occur several times",
                format_thousands(others)
            ),
        };
        let count = format_thousands(self.counts.get(hash)?.count);
        Some(format!(
            "{count} {noun} have the id {name}{more}: a table of scores cannot be joined by id; its \
             rows are in the order of the input, or make ids distinct first"
        ))
    }
}

/// Returns a warning if the training of the model did not finish.
pub(crate) fn unfinished_warning(training: &Training) -> Option<String> {
    let text = "training of this model did not finish: its weights are those of the best epoch so \
                far; resume the run, or train it again";
    (!training.finished).then(|| text.to_owned())
}

/// Formats a range of counts, such as record lengths.
fn format_range((first, last): (u64, u64)) -> String {
    if first == last {
        return format_thousands(first);
    }
    format!("{} to {}", format_thousands(first), format_thousands(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(alphabet: &str, rows: &[&[u8]]) -> Vec<String> {
        let training = Training {
            alphabet: Some(alphabet.to_owned()),
            lengths: Some((4, 6)),
            finished: true,
        };
        let mut warnings = InputWarnings::new(training);
        let mut letters = ByteRows::default();
        for row in rows {
            letters.push(row);
        }
        warnings.count_residues(&letters);
        warnings.sentences()
    }

    #[test]
    fn dna_for_a_model_of_proteins_gives_a_warning_from_100_residues() {
        assert_eq!(warnings("protein", &[b"acgt".as_slice(); 24]).len(), 0);
        let found = warnings("protein", &[b"acgt".as_slice(); 25]);
        assert!(found[0].starts_with("the sequences look like dna, but the model was"));
        assert_eq!(warnings("protein", &[b"MKLV".as_slice(); 25]).len(), 0);
        assert!(warnings("protein", &[b"ACGU"])[0].contains("look like rna"));
    }

    #[test]
    fn ambiguity_codes_for_a_model_of_dna_give_a_warning() {
        assert_eq!(warnings("dna", &[b"ACGR"]).len(), 0);
        let found = warnings("dna", &[b"ACRR"]);
        assert!(found[0].contains("protein (2 of 4 residues are of RYSWKMBDHV)"));
    }

    #[test]
    fn lengths_outside_the_training_range_are_counted() {
        let found = warnings("dna", &[b"ACG", b"ACGT", b"ACGTACGT"]);
        assert!(found[0].starts_with("2 of 3 sequences have 3 to 8 residues, but the model was"));
    }

    #[test]
    fn the_first_repeated_id_is_named() {
        let (mut ids, mut names) = (IdCounts::default(), ByteRows::default());
        for name in ["a", "b", "c", "c", "b", "c"] {
            names.push(name.as_bytes());
        }
        ids.count_ids(&names);
        let found = ids.duplicate_id_warning("pairs").unwrap();
        assert!(found.starts_with("2 pairs have the id 'b', and 1 more ids occur"));
    }

    #[test]
    fn unfinished_training_gives_a_warning() {
        let training = Training {
            finished: false,
            ..Training::default()
        };
        let found = unfinished_warning(&training).unwrap();
        assert!(found.starts_with("training of this model did not finish"));
        assert_eq!(unfinished_warning(&Training::default()), None);
    }
}
