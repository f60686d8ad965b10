//! Kinds of alleles, and the comparison of REF with the genome.

use seqloom_core::Result;

use crate::genome::Genome;

/// The outcome for one pair of a record and an ALT allele. The order is that of `STATUS`
/// in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The genome has REF.
    Ok,
    /// The genome has ALT, which is used as the reference.
    Swapped,
    /// ALT is `.`.
    Missing,
    /// ALT is `*`.
    SpanningDeletion,
    /// ALT is a name in angle brackets.
    Symbolic,
    /// ALT is a breakend.
    Breakend,
    /// ALT is `<NON_REF>` or `<*>`.
    ReferenceBlock,
    /// The genome lacks the contig.
    ContigNotInGenome,
    /// REF extends beyond the contig.
    OutsideContig,
    /// The genome has another sequence than REF.
    ReferenceMismatch,
    /// The genome has ALT, or REF on the other strand.
    AmbiguousSwap,
    /// An allele has characters other than A, C, G, T and N.
    InvalidAllele,
}

/// The genome has an ambiguity code that includes REF.
pub const IUPAC: u16 = 1;
/// The genome has another sequence than REF.
pub const DIFFERS: u16 = 1 << 1;
/// The genome has the sequence of an ALT.
pub const EXCHANGED: u16 = 1 << 2;
/// The genome has the reverse complement of REF.
pub const OTHER_STRAND: u16 = 1 << 3;
/// The genome has the reverse complement of an ALT.
pub const OTHER_STRAND_EXCHANGED: u16 = 1 << 4;
/// The genome has REF one base to the left.
pub const ONE_LEFT: u16 = 1 << 5;
/// The genome has REF one base to the right.
pub const ONE_RIGHT: u16 = 1 << 6;
/// The genome has N, and REF does not.
pub const GENOME_N: u16 = 1 << 7;
/// The genome is in lower case.
pub const LOWER_CASE: u16 = 1 << 8;
/// REF was not compared with the genome.
pub const NOT_COMPARED: u16 = 1 << 9;

/// Returns the kind of an ALT allele; `Status::Ok` for a literal sequence.
pub fn classify_alternative(alternative: &[u8]) -> Status {
    match alternative {
        b"." => Status::Missing,
        b"*" => Status::SpanningDeletion,
        b"<NON_REF>" | b"<*>" => Status::ReferenceBlock,
        [b'.', .., _] | [_, .., b'.'] => Status::Breakend,
        _ if is_literal(alternative) => Status::Ok,
        _ if alternative.iter().any(|letter| b"[]".contains(letter)) => Status::Breakend,
        _ if alternative.contains(&b'<') => Status::Symbolic,
        _ => Status::InvalidAllele,
    }
}

/// Returns whether an allele is a sequence of A, C, G, T and N in upper or lower case.
pub fn is_literal(allele: &[u8]) -> bool {
    let is_base = |letter: &u8| {
        matches!(
            letter.to_ascii_uppercase(),
            b'A' | b'C' | b'G' | b'T' | b'N'
        )
    };
    !allele.is_empty() && allele.iter().all(is_base)
}

/// The position and alleles of one record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The number of the contig in the genome; -1 if the genome lacks the contig.
    pub contig: i32,
    /// The zero-based position of REF.
    pub start: i64,
    /// REF as the file has it.
    pub reference: &'a [u8],
    /// The ALT alleles, separated by commas.
    pub alternatives: &'a [u8],
}

impl<'a> Record<'a> {
    /// Iterates over the ALT alleles.
    pub fn split_alternatives(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.alternatives.split(|letter| *letter == b',')
    }

    /// Iterates over the ALT alleles that are sequences.
    fn literals(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.split_alternatives()
            .filter(|allele| is_literal(allele))
    }
}

/// The result of comparing REF with the genome.
pub struct Check {
    /// The status of the literal alleles of the record; `Status::Ok` if they can be used.
    pub status: Status,
    /// Bits such as `DIFFERS` and `EXCHANGED`.
    pub flags: u16,
}

/// Compares REF with the genome.
pub fn check_reference(genome: &mut Genome<'_>, record: Record<'_>) -> Result<Check> {
    let skip = |status| {
        Ok(Check {
            status,
            flags: NOT_COMPARED,
        })
    };
    if genome.length(record.contig).is_none() {
        return skip(Status::ContigNotInGenome);
    }
    if !is_literal(record.reference) {
        return skip(Status::InvalidAllele);
    }
    let flags = {
        let stop = record.start.saturating_add(to_i64(record.reference.len()));
        let Some(letters) = genome.residues(record.contig, record.start, stop)? else {
            return skip(Status::OutsideContig);
        };
        compare(record.reference, letters)
    };
    if flags & DIFFERS == 0 {
        let status = Status::Ok;
        return Ok(Check { status, flags });
    }
    let is_unknown = record.reference.iter().all(|letter| b"Nn".contains(letter));
    if is_unknown && record.literals().next().is_none() {
        return skip(Status::Ok); // callers of structural variants write N as REF
    }
    let flags = flags | explain(genome, record)?;
    let status = Status::ReferenceMismatch;
    Ok(Check { status, flags })
}

/// Compares REF with the residues of the genome at its position.
fn compare(reference: &[u8], letters: &[u8]) -> u16 {
    if reference == letters {
        return 0;
    }
    let has_lower = letters.iter().any(u8::is_ascii_lowercase);
    let case = if has_lower { LOWER_CASE } else { 0 };
    if reference.eq_ignore_ascii_case(letters) {
        return case;
    }
    let mut pairs = reference.iter().zip(letters);
    if pairs.all(|(base, code)| is_included(*base, *code)) {
        return case | IUPAC;
    }
    let has_unknown = letters.iter().any(|letter| b"Nn".contains(letter));
    DIFFERS | if has_unknown { GENOME_N } else { 0 }
}

/// Returns whether an ambiguity code of the genome includes a base. N is not such a code,
/// because it states nothing about the base.
fn is_included(base: u8, code: u8) -> bool {
    let base = base.to_ascii_uppercase();
    base == code.to_ascii_uppercase() || bases_of(code).contains(&base)
}

/// Returns the bases of an ambiguity code in alphabetical order.
pub(crate) fn bases_of(code: u8) -> &'static [u8] {
    match code.to_ascii_uppercase() {
        b'R' => b"AG",
        b'Y' => b"CT",
        b'S' => b"CG",
        b'W' => b"AT",
        b'K' => b"GT",
        b'M' => b"AC",
        b'B' => b"CGT",
        b'D' => b"AGT",
        b'H' => b"ACT",
        b'V' => b"ACG",
        _ => b"",
    }
}

/// Returns the possible reasons why REF differs from the genome; several may apply.
fn explain(genome: &mut Genome<'_>, record: Record<'_>) -> Result<u16> {
    let Record {
        start, reference, ..
    } = record;
    let mut flags = 0;
    let mut add = |flag: u16, position: i64, allele: &[u8]| -> Result<()> {
        if has_sequence(genome, record.contig, position, allele)? {
            flags |= flag;
        }
        Ok(())
    };
    for alternative in record.literals() {
        add(EXCHANGED, start, alternative)?;
        add(
            OTHER_STRAND_EXCHANGED,
            start,
            &reverse_complement(alternative),
        )?;
    }
    add(OTHER_STRAND, start, &reverse_complement(reference))?;
    add(ONE_LEFT, start - 1, reference)?;
    add(ONE_RIGHT, start + 1, reference)?;
    Ok(flags)
}

/// Returns the longest ALT that equals the genome at the position of the record.
pub(crate) fn find_genome_allele<'a>(
    genome: &mut Genome<'_>,
    record: Record<'a>,
) -> Result<Option<&'a [u8]>> {
    let mut longest: Option<&[u8]> = None;
    for allele in record.literals() {
        let is_longer = longest.is_none_or(|other| other.len() < allele.len());
        if is_longer && has_sequence(genome, record.contig, record.start, allele)? {
            longest = Some(allele);
        }
    }
    Ok(longest)
}

/// Returns whether the genome has the sequence at the position, in upper or lower case.
fn has_sequence(genome: &mut Genome<'_>, contig: i32, start: i64, sequence: &[u8]) -> Result<bool> {
    let letters = genome.residues(contig, start, start.saturating_add(to_i64(sequence.len())))?;
    Ok(letters.is_some_and(|letters| letters.eq_ignore_ascii_case(sequence)))
}

fn reverse_complement(allele: &[u8]) -> Vec<u8> {
    let complement = |letter: &u8| match letter.to_ascii_uppercase() {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    };
    allele.iter().rev().map(complement).collect()
}

pub(crate) fn to_i64(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_alternative_is_recognised() {
        let cases: [(&[u8], Status); 12] = [
            (b"A", Status::Ok),
            (b"acgtN", Status::Ok),
            (b".", Status::Missing),
            (b"*", Status::SpanningDeletion),
            (b"<DEL>", Status::Symbolic),
            (b"C<ctg1>", Status::Symbolic),
            (b"<*>", Status::ReferenceBlock),
            (b"<NON_REF>", Status::ReferenceBlock),
            (b"G]17:198982]", Status::Breakend),
            (b".A", Status::Breakend),
            (b"AR", Status::InvalidAllele),
            (b"", Status::InvalidAllele),
        ];
        for (alternative, kind) in cases {
            assert_eq!(classify_alternative(alternative), kind, "{alternative:?}");
        }
    }

    #[test]
    fn an_ambiguity_code_includes_its_bases_and_n_includes_none() {
        assert_eq!(compare(b"AC", b"RC"), IUPAC);
        assert_eq!(compare(b"CC", b"RC"), DIFFERS);
        assert_eq!(compare(b"AC", b"NC"), DIFFERS | GENOME_N);
        assert_eq!(compare(b"NC", b"nc"), LOWER_CASE);
    }
}
