//! The normal form of an allele, and the table of all alleles of a batch of records.

use std::collections::VecDeque;

use seqloom_core::{Error, Ragged, Result};

use crate::check::{
    Check, OTHER_STRAND, Record, Status, bases_of, check_reference, classify_alternative,
    find_genome_allele, to_i64,
};
use crate::genome::Genome;

/// A batch of records, as columns.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// The index of each record's contig in the genome; -1 if the genome lacks it.
    pub contigs: &'a [i32],
    /// The zero-based positions.
    pub starts: &'a [i64],
    /// The REF alleles.
    pub references: Ragged<'a>,
    /// The ALT alleles, separated by commas.
    pub alternatives: Ragged<'a>,
}

impl Records<'_> {
    pub(crate) fn check_sizes(&self) -> Result<()> {
        let count = self.contigs.len();
        let sizes = [
            self.starts.len(),
            self.references.len(),
            self.alternatives.len(),
        ];
        if sizes.iter().any(|size| *size != count) {
            return Err(Error::argument(format!(
                "contigs, starts, refs and alts must have one length, got {count} and {sizes:?}"
            )));
        }
        Ok(())
    }
}

/// The options of [`resolve`].
#[derive(Clone, Copy)]
pub struct ResolveOptions {
    /// Use an ALT that the genome has as the reference if REF differs from the genome.
    pub swap: bool,
    /// Split a substitution of several bases into substitutions of one base.
    pub split_mnps: bool,
}

/// The alleles of a batch: at least one row for each record, in order.
pub struct Alleles {
    /// The index of the record in the batch.
    pub records: Vec<i64>,
    /// The number of the ALT allele, from 1.
    pub alternatives: Vec<i32>,
    /// The [`Status`] of each row, as a number.
    pub status: Vec<u8>,
    /// The zero-based position of the normal form.
    pub starts: Vec<i64>,
    /// The reference alleles, and their offsets.
    pub references: (Vec<u8>, Vec<i64>),
    /// The alternative alleles, and their offsets.
    pub others: (Vec<u8>, Vec<i64>),
    /// The differences of each record from the genome, as flags of [`crate::check`].
    pub flags: Vec<u16>,
}

/// Compares each record with the genome, and returns the normal forms of its alleles.
pub fn resolve(
    genome: &mut Genome<'_>,
    records: Records<'_>,
    options: ResolveOptions,
) -> Result<Alleles> {
    records.check_sizes()?;
    let mut alleles = Alleles::with_capacity(records.contigs.len());
    let positions = records.contigs.iter().zip(records.starts);
    for (row, (contig, start)) in positions.enumerate() {
        let record = Record {
            contig: *contig,
            start: *start,
            reference: records.references.get(row),
            alternatives: records.alternatives.get(row),
        };
        let check = check_reference(genome, record)?;
        alleles.flags.push(check.flags);
        let genome_allele = if options.swap && check.status == Status::ReferenceMismatch {
            find_genome_allele(genome, record)?
        } else {
            None
        };
        for (number, alternative) in (1..).zip(record.split_alternatives()) {
            let status = row_status(&check, alternative, genome_allele);
            let number = (to_i64(row), number);
            let row = Row { number, status };
            let pair = (record.reference, alternative);
            match status {
                Status::Ok => alleles.push_normal(genome, record, (row, pair), options)?,
                Status::Swapped => {
                    alleles.push_normal(genome, record, (row, (pair.1, pair.0)), options)?;
                }
                _ => alleles.push(row, record.start, pair),
            }
        }
    }
    Ok(alleles)
}

fn row_status(check: &Check, alternative: &[u8], genome_allele: Option<&[u8]>) -> Status {
    let kind = classify_alternative(alternative);
    if kind != Status::Ok {
        return kind;
    }
    match check.status {
        Status::ReferenceMismatch if genome_allele == Some(alternative) => {
            if check.flags & OTHER_STRAND == 0 {
                Status::Swapped
            } else {
                Status::AmbiguousSwap
            }
        }
        status => status,
    }
}

/// The columns of a row that splitting a substitution does not change.
#[derive(Clone, Copy)]
struct Row {
    /// The index of the record, and the number of the ALT allele.
    number: (i64, i32),
    status: Status,
}

/// A reference allele, and an alternative allele.
type Pair<'a> = (&'a [u8], &'a [u8]);

impl Alleles {
    fn with_capacity(count: usize) -> Self {
        let texts = || {
            let mut offsets = Vec::with_capacity(count + 1);
            offsets.push(0);
            (Vec::with_capacity(count), offsets)
        };
        Self {
            records: Vec::with_capacity(count),
            alternatives: Vec::with_capacity(count),
            status: Vec::with_capacity(count),
            starts: Vec::with_capacity(count),
            references: texts(),
            others: texts(),
            flags: Vec::with_capacity(count),
        }
    }

    fn push_normal(
        &mut self,
        genome: &mut Genome<'_>,
        record: Record<'_>,
        (row, pair): (Row, Pair<'_>),
        options: ResolveOptions,
    ) -> Result<()> {
        let (reference, other) = pair;
        if let ([base], [changed]) = pair {
            let pair = ([base.to_ascii_uppercase()], [changed.to_ascii_uppercase()]);
            self.push(row, record.start, (&pair.0, &pair.1));
            return Ok(());
        }
        let form = normalise(genome, (record.contig, record.start), (reference, other))?;
        let (reference, other) = (&form.reference[..], &form.alternative[..]);
        let is_mnp = reference.len() == other.len() && reference != other;
        if !(options.split_mnps && is_mnp) {
            self.push(row, form.start, (reference, other));
            return Ok(());
        }
        let bases = reference.chunks(1).zip(other.chunks(1));
        for (position, pair) in (form.start..).zip(bases) {
            if pair.0 != pair.1 {
                self.push(row, position, pair);
            }
        }
        Ok(())
    }

    fn push(&mut self, row: Row, start: i64, (reference, other): Pair<'_>) {
        self.records.push(row.number.0);
        self.alternatives.push(row.number.1);
        self.status.push(row.status as u8);
        self.starts.push(start);
        for (texts, text) in [(&mut self.references, reference), (&mut self.others, other)] {
            texts.0.extend_from_slice(text);
            texts.1.push(to_i64(texts.0.len()));
        }
    }
}

/// A variant in normal form, as `bcftools norm` writes it.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalForm {
    /// The zero-based position.
    pub start: i64,
    /// The reference allele in upper case.
    pub reference: Vec<u8>,
    /// The alternative allele in upper case.
    pub alternative: Vec<u8>,
}

/// Left-aligns a variant and removes redundant bases.
///
/// An insertion or deletion keeps one base before it. At the first position of a contig
/// there is no such base, so it keeps the base after it.
pub fn normalise(
    genome: &mut Genome<'_>,
    (contig, start): (i32, i64),
    (reference, alternative): Pair<'_>,
) -> Result<NormalForm> {
    let mut form = NormalForm {
        start,
        reference: reference.to_ascii_uppercase(),
        alternative: alternative.to_ascii_uppercase(),
    };
    if form.reference == form.alternative {
        return Ok(form);
    }
    let shorter = form.reference.len().min(form.alternative.len());
    let ends = form
        .reference
        .iter()
        .rev()
        .zip(form.alternative.iter().rev());
    let common = ends.take_while(|(a, b)| a == b).count();
    let redundant = common.min(shorter.saturating_sub(1));
    form.reference.truncate(form.reference.len() - redundant);
    form.alternative
        .truncate(form.alternative.len() - redundant);
    if form.reference.last() == form.alternative.last() {
        form.shift_left(genome, contig)?;
    }
    form.remove_common_start();
    Ok(form)
}

impl NormalForm {
    /// Moves an insertion or deletion to the left while the sequence stays the same. One of
    /// the alleles is one base, which is also the last base of the other allele.
    fn shift_left(&mut self, genome: &mut Genome<'_>, contig: i32) -> Result<()> {
        let is_deletion = self.reference.len() > self.alternative.len();
        let (longer, shorter) = if is_deletion {
            (&mut self.reference, &mut self.alternative)
        } else {
            (&mut self.alternative, &mut self.reference)
        };
        let mut letters = VecDeque::from(std::mem::take(longer));
        while letters.back() == shorter.first() {
            let Some(base) = genome.residue(contig, self.start - 1)? else {
                break;
            };
            let base = bases_of(base).first().copied().unwrap_or(base);
            letters.pop_back();
            letters.push_front(base);
            shorter.clear();
            shorter.push(base);
            self.start -= 1;
        }
        *longer = Vec::from(letters);
        Ok(())
    }

    fn remove_common_start(&mut self) {
        let shorter = self.reference.len().min(self.alternative.len());
        let starts = self.reference.iter().zip(&self.alternative);
        let common = starts.take_while(|(a, b)| a == b).count();
        let redundant = common.min(shorter.saturating_sub(1));
        self.reference.drain(..redundant);
        self.alternative.drain(..redundant);
        self.start += to_i64(redundant);
    }
}
