//! The importance of positions: the change of scores when residues are masked.
//!
//! The mask is the residue for "unknown" (N for DNA, X for proteins). If the encoder
//! does not accept this residue, each residue of the alphabet is inserted once, and the
//! changes of the scores are averaged.

use seqloom_core::{Error, Result};
use seqloom_encode::LetterTable;
use seqloom_run::Predictor;
use serde_json::json;

use crate::{record::FileRecord, session::StoredScores, table};

/// The residues that replace a masked residue, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MaskResidues(Vec<u8>);

/// The maximal number of residues in all masked copies of a record. In a long record,
/// several adjacent residues are masked together.
const MAX_MASKED_COPY_RESIDUES: usize = 4 << 20;

/// The maximal number of intervals of a record that are masked.
const MAX_MASKED_INTERVALS: usize = 2000;

impl MaskResidues {
    /// Returns the residues that replace masked residues for this model.
    pub(crate) fn of(predictor: &Predictor) -> Result<Self> {
        let encoder = predictor.encoder();
        let encoder = encoder.filter(|it| !it.reads_qualities());
        let is_paired = predictor.manifest().pair.is_some();
        match encoder {
            Some(encoder) if !is_paired => Ok(Self::of_letters(encoder.letters())),
            _ => Err(Error::argument(
                "importances need a model of sequences that scores one record at a time",
            )),
        }
    }

    fn of_letters(letters: &LetterTable) -> Self {
        let refused = letters.rejected_bytes();
        let codes = letters.ambiguities().iter();
        let codes = codes.filter(|(code, _)| !refused.contains(code));
        let unknown = codes.max_by_key(|(_, members)| members.len());
        Self(unknown.map_or_else(|| letters.residues().to_vec(), |(code, _)| vec![*code]))
    }
}

/// A record, and how its residues are masked.
#[derive(Debug)]
pub(crate) struct Occlusion {
    record: FileRecord,
    cover: MaskResidues,
    /// Number of positions that are masked together.
    step: usize,
}

impl Occlusion {
    pub(crate) fn new(predictor: &Predictor, record: FileRecord) -> Result<Self> {
        let cover = MaskResidues::of(predictor)?;
        let length = record.letters.len();
        let parts = (MAX_MASKED_COPY_RESIDUES / length.max(1) / cover.0.len().max(1))
            .clamp(1, MAX_MASKED_INTERVALS);
        Ok(Self {
            record,
            cover,
            step: length.div_ceil(parts).max(1),
        })
    }

    /// Returns FASTA text: the unchanged record, then one copy for each masked interval
    /// and residue.
    fn fasta_text(&self) -> Vec<u8> {
        let letters = &self.record.letters;
        let mut text = Vec::new();
        append_fasta(&mut text, letters);
        for start in (0..letters.len()).step_by(self.step) {
            for &cover in &self.cover.0 {
                let mut covered = letters.clone();
                let part = covered.iter_mut().skip(start).take(self.step);
                part.for_each(|letter| *letter = cover);
                append_fasta(&mut text, &covered);
            }
        }
        text
    }

    /// Returns the decrease of the score for each masked interval and output column.
    fn importances(&self, values: &[f32], columns: usize) -> Vec<f32> {
        let columns = columns.max(1);
        let (whole, covered) = values.split_at(columns.min(values.len()));
        let parts = covered.chunks_exact(columns * self.cover.0.len().max(1));
        let of_part = |part: &[f32]| -> Vec<f32> {
            let mean = |column| mean_score(part.iter().skip(column).step_by(columns));
            let each = whole.iter().enumerate();
            each.map(|(column, score)| score - mean(column)).collect()
        };
        parts.flat_map(of_part).collect()
    }
}

/// Scores a record and its masked copies, and returns the importances.
pub(crate) fn score_masked_copies(
    occlusion: &Occlusion,
    score: impl FnOnce(Vec<u8>) -> Result<StoredScores>,
) -> Result<Vec<u8>> {
    let stored = score(occlusion.fasta_text())?;
    let columns = stored.columns.len();
    let record = &occlusion.record;
    let facts = json!({
        "id": record.id,
        "letters": String::from_utf8_lossy(&record.letters),
        "columns": stored.columns,
        "scores": stored.values.get(..columns),
        "step": occlusion.step,
        "cover": String::from_utf8_lossy(&occlusion.cover.0),
    });
    let mut bytes = facts.to_string().into_bytes();
    bytes.push(b'\n');
    table::append_floats(&mut bytes, &occlusion.importances(&stored.values, columns));
    Ok(bytes)
}

/// Appends a record to FASTA text.
fn append_fasta(text: &mut Vec<u8>, letters: &[u8]) {
    text.extend_from_slice(b">x\n");
    text.extend_from_slice(letters);
    text.push(b'\n');
}

fn mean_score<'a>(scores: impl Iterator<Item = &'a f32>) -> f32 {
    let (sum, count) = scores.fold((0.0, 0.0), |(sum, count), score| (sum + score, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occlusion(cover: &[u8], step: usize) -> Occlusion {
        Occlusion {
            record: FileRecord {
                id: "a".to_owned(),
                letters: b"ACG".to_vec(),
            },
            cover: MaskResidues(cover.to_vec()),
            step,
        }
    }

    #[test]
    fn each_interval_is_masked_by_each_residue() {
        assert_eq!(
            occlusion(b"N", 1).fasta_text(),
            b">x\nACG\n>x\nNCG\n>x\nANG\n>x\nACN\n"
        );
        let two = occlusion(b"AC", 2).fasta_text();
        assert_eq!(two, b">x\nACG\n>x\nAAG\n>x\nCCG\n>x\nACA\n>x\nACC\n");
    }

    #[test]
    fn an_importance_is_the_score_minus_the_mean_of_the_masked_scores() {
        let one = occlusion(b"N", 2).importances(&[0.75, 0.25, 0.5, 0.5, 1.0, 0.0], 2);
        assert_eq!(one, [0.25, -0.25, -0.25, 0.25]);
        let two = occlusion(b"AC", 2).importances(&[1.0, 0.5, 0.0, 0.25, 0.25], 1);
        assert_eq!(two, [0.75, 0.75]);
    }

    #[test]
    fn the_mask_is_the_widest_accepted_code_or_else_all_residues() {
        let policy = seqloom_encode::Policy::default();
        let dna = LetterTable::new("dna", policy).map(|it| MaskResidues::of_letters(&it));
        assert_eq!(dna, Ok(MaskResidues(b"N".to_vec())));
        let strict = seqloom_encode::Policy {
            codes: false,
            ..policy
        };
        let strict = LetterTable::new("dna", strict).map(|it| MaskResidues::of_letters(&it));
        assert_eq!(strict, Ok(MaskResidues(b"ACGT".to_vec())));
    }
}
