//! Genotypes of samples.

use seqloom_core::error::Fault;

use crate::samples::SampleReader;
use crate::typed::{TypedValues, ValueType};

/// The allele number of a missing allele (`.`).
pub(crate) const MISSING_ALLELE: i16 = -1;
/// Fills the row of a genotype whose ploidy is below that of the batch.
const ABSENT_ALLELE: i8 = -2;
/// The minimum number of alleles in a row. A haploid genotype has one absent allele.
const MIN_PLOIDY: usize = 2;

/// The genotypes of a batch: a row of alleles for each record and sample.
#[derive(Clone, Debug, Default)]
pub struct Genotypes {
    /// The alleles, if all numbers are below 128.
    pub narrow: Vec<i8>,
    /// The alleles, if a number is above 127; then `narrow` is empty.
    pub wide: Vec<i16>,
    /// True if `wide` has the alleles.
    pub is_wide: bool,
    /// The number of alleles in a row: the maximum ploidy of the batch, at least 2.
    pub ploidy: usize,
    /// True for each genotype whose alleles are all phased.
    pub phased: Vec<bool>,
}

impl Genotypes {
    pub(crate) fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        self.is_wide = false;
        self.ploidy = MIN_PLOIDY;
        self.phased.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.narrow.len() + 2 * self.wide.len() + self.phased.len()
    }

    pub(crate) fn truncate(&mut self, rows: usize) {
        self.narrow.truncate(rows * self.ploidy);
        self.wide.truncate(rows * self.ploidy);
        self.phased.truncate(rows);
    }

    /// Appends a genotype.
    #[inline]
    pub(crate) fn push(&mut self, alleles: &[i16], is_phased: bool) {
        if alleles.len() > self.ploidy {
            self.raise_ploidy(alleles.len());
        }
        if !self.is_wide && alleles.iter().any(|allele| *allele > i16::from(i8::MAX)) {
            self.is_wide = true;
            self.wide = self.narrow.iter().map(|it| i16::from(*it)).collect();
            self.narrow.clear();
        }
        let absent = self.ploidy - alleles.len();
        if self.is_wide {
            self.wide.extend_from_slice(alleles);
            let absent = std::iter::repeat_n(i16::from(ABSENT_ALLELE), absent);
            self.wide.extend(absent);
        } else {
            let narrow = alleles
                .iter()
                .map(|it| i8::try_from(*it).unwrap_or(ABSENT_ALLELE));
            self.narrow.extend(narrow);
            self.narrow
                .extend(std::iter::repeat_n(ABSENT_ALLELE, absent));
        }
        self.phased.push(is_phased);
    }

    /// Appends a genotype of a record without GT.
    pub(crate) fn push_missing(&mut self) {
        self.push(&[MISSING_ALLELE; MIN_PLOIDY], false);
    }

    #[cold]
    fn raise_ploidy(&mut self, ploidy: usize) {
        self.narrow = widen(&self.narrow, (self.ploidy, ploidy), ABSENT_ALLELE);
        self.wide = widen(&self.wide, (self.ploidy, ploidy), i16::from(ABSENT_ALLELE));
        self.ploidy = ploidy;
    }

    /// Appends genotypes such as `0|1` with a tab after each. Returns false, and appends
    /// nothing, if any of them has another form.
    pub(crate) fn push_short(&mut self, cells: &[[u8; 4]]) -> bool {
        if self.is_wide || self.ploidy != MIN_PLOIDY {
            return false;
        }
        let (before, count) = (self.phased.len(), cells.len());
        self.narrow.resize((before + count) * MIN_PLOIDY, 0);
        self.phased.resize(before + count, false);
        let alleles = self.narrow.get_mut(before * MIN_PLOIDY..);
        let (pairs, _) = alleles.unwrap_or_default().as_chunks_mut::<MIN_PLOIDY>();
        let phased = self.phased.get_mut(before..).unwrap_or_default();
        // Arithmetic without branches, which the compiler turns into vector instructions.
        let mut odd = 0;
        for ((cell, pair), is_phased) in cells.iter().zip(pairs).zip(phased) {
            let [first, separator, second, end] = *cell;
            let (first, is_first_odd) = short_allele(first);
            let (second, is_second_odd) = short_allele(second);
            *pair = [first, second];
            *is_phased = separator == b'|';
            let is_separator_odd = u8::from(separator != b'|') & u8::from(separator != b'/');
            odd |= is_first_odd | is_second_odd | is_separator_odd | u8::from(end != b'\t');
        }
        if odd != 0 {
            self.truncate(before);
        }
        odd == 0
    }

    /// Appends genotypes with two alleles, whose codes in BCF have 8 bits. Returns false, and
    /// appends nothing, if any of them is incomplete.
    fn push_pairs(&mut self, codes: &[u8], selected: &[usize]) -> bool {
        if self.is_wide || self.ploidy != MIN_PLOIDY {
            return false;
        }
        let before = self.phased.len();
        let (codes, _) = codes.as_chunks::<MIN_PLOIDY>();
        let mut odd = 0;
        for number in selected {
            let [first, second] = codes.get(*number).copied().unwrap_or([0x80; 2]);
            odd |= first | second;
            let allele = |code: u8| (code >> 1).cast_signed() - 1;
            self.narrow.extend([allele(first), allele(second)]);
            self.phased.push(second & 1 == 1);
        }
        // Codes of 128 and above are missing values, or end a genotype of lower ploidy.
        if odd >= 0x80 {
            self.truncate(before);
        }
        odd < 0x80
    }
}

impl SampleReader {
    /// Appends the genotypes of a BCF record; `table` is `None` if the record has no GT.
    pub(crate) fn push_genotype_values(
        &mut self,
        table: Option<TypedValues<'_>>,
        genotypes: &mut Genotypes,
    ) -> Result<(), Fault> {
        let Some(table) = table.filter(|table| table.kind != ValueType::Missing) else {
            self.selected.iter().for_each(|_| genotypes.push_missing());
            return Ok(());
        };
        if matches!(table.kind, ValueType::Float | ValueType::Text) {
            return Err(Fault::of_file("GT: expected integers"));
        }
        if table.kind == ValueType::Int8
            && table.bytes.len() == MIN_PLOIDY * self.count
            && genotypes.push_pairs(table.bytes, &self.selected)
        {
            return Ok(());
        }
        for number in &self.selected {
            let values = table.vector(*number, self.count);
            let is_phased = decode_genotype(values, &mut self.alleles);
            let is_phased = is_phased.map_err(|fault| Fault {
                message: format!("sample {}: {}", number + 1, fault.message),
                ..fault
            })?;
            genotypes.push(&self.alleles, is_phased);
        }
        Ok(())
    }
}

/// Decodes a genotype of a BCF record into `alleles`. Returns whether all alleles are
/// phased.
fn decode_genotype(values: TypedValues<'_>, alleles: &mut Vec<i16>) -> Result<bool, Fault> {
    alleles.clear();
    let mut is_phased = true;
    for (value, number) in values.integers().zip(0..) {
        let (allele, is_allele_phased) = match value {
            i32::MIN => (MISSING_ALLELE, false),
            value => {
                let allele = i16::try_from((value >> 1) - 1).ok();
                let allele = allele.filter(|allele| *allele >= MISSING_ALLELE);
                let allele = allele.ok_or_else(|| invalid_allele_code(value))?;
                (allele, value & 1 == 1)
            }
        };
        alleles.push(allele);
        // The phase of the first allele counts only if there is no second allele, because
        // programs write it differently.
        is_phased = match number {
            0 | 1 => is_allele_phased,
            _ => is_phased && is_allele_phased,
        };
    }
    if alleles.is_empty() {
        alleles.push(MISSING_ALLELE);
        is_phased = false;
    }
    Ok(is_phased)
}

pub(crate) fn invalid_allele_code(code: i32) -> Fault {
    Fault::of_file(format!("GT: {code} is not the code of an allele"))
}

/// Returns an allele of one character, and 1 if the character is invalid, else 0.
#[inline]
fn short_allele(character: u8) -> (i8, u8) {
    let digit = character.wrapping_sub(b'0');
    let is_dot = u8::from(character == b'.');
    let allele = digit.wrapping_add(is_dot).cast_signed();
    (allele, u8::from(digit > 9) & (is_dot ^ 1))
}

fn widen<T: Copy>(values: &[T], (from, to): (usize, usize), fill: T) -> Vec<T> {
    let rows = values.chunks_exact(from.max(1));
    let mut wider = Vec::with_capacity(rows.len() * to);
    for row in rows {
        wider.extend_from_slice(row);
        wider.extend(std::iter::repeat_n(fill, to.saturating_sub(from)));
    }
    wider
}

/// Parses a genotype such as `0/1`, `.|2` or `1` into `alleles`. Returns whether all
/// alleles are phased, or `None` if the text is not a genotype.
#[inline]
pub(crate) fn parse_genotype(text: &[u8], alleles: &mut Vec<i16>) -> Option<bool> {
    alleles.clear();
    let (prefix, mut rest) = match text {
        [first @ (b'|' | b'/'), rest @ ..] => (Some(*first == b'|'), rest),
        _ => (None, text),
    };
    let (mut is_phased, mut separators) = (true, 0);
    loop {
        let size = rest.iter().position(|byte| matches!(byte, b'|' | b'/'));
        let (allele, tail) = rest.split_at(size.unwrap_or(rest.len()));
        alleles.push(parse_allele(allele)?);
        let [separator, tail @ ..] = tail else {
            // A prefix states the phase of the first allele (VCF 4.4).
            let is_pair = separators > 0;
            return Some(is_phased && prefix.unwrap_or(is_pair));
        };
        is_phased &= *separator == b'|';
        separators += 1;
        rest = tail;
    }
}

#[inline]
fn parse_allele(text: &[u8]) -> Option<i16> {
    if text == b"." {
        return Some(MISSING_ALLELE);
    }
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.iter().try_fold(0_i16, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + i16::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(Vec<i16>, bool)> {
        let mut alleles = Vec::new();
        let is_phased = parse_genotype(text.as_bytes(), &mut alleles)?;
        Some((alleles, is_phased))
    }

    #[test]
    fn a_genotype_has_alleles_and_phase() {
        assert_eq!(parse("0/1"), Some((vec![0, 1], false)));
        assert_eq!(parse("0|12"), Some((vec![0, 12], true)));
        assert_eq!(parse("./."), Some((vec![-1, -1], false)));
        assert_eq!(parse("1"), Some((vec![1], false)));
        assert_eq!(parse("|1"), Some((vec![1], true)));
        assert_eq!(parse("0|1/2"), Some((vec![0, 1, 2], false)));
    }

    #[test]
    fn text_that_is_not_a_genotype_is_refused() {
        for text in ["", "0/", "a", "0-1", "0//1", "99999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn short_genotypes_equal_those_of_the_general_parser() {
        for text in ["0|1\t", "./.\t", ".|9\t", "3/0\t"] {
            let mut short = Genotypes::default();
            short.clear();
            assert!(short.push_short(&[text.as_bytes().try_into().unwrap()]));
            let (alleles, is_phased) = parse(text.trim_end()).unwrap();
            let alleles: Vec<i8> = alleles
                .iter()
                .map(|it| i8::try_from(*it).unwrap())
                .collect();
            assert_eq!((short.narrow, short.phased), (alleles, vec![is_phased]));
        }
    }
}
