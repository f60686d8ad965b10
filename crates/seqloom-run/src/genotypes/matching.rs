//! Matches the variants of a file to those of a model, including variants whose alleles
//! are exchanged.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use seqloom_core::{Error, number::as_u64};

use super::fault;
use crate::text::format_thousands;

/// The ids and alleles of variants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Variants {
    pub(super) ids: Vec<String>,
    /// The counted allele.
    pub(super) counted: Vec<String>,
    pub(super) other: Vec<String>,
}

/// The indices in a file of the variants that the model reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VariantMatch {
    pub(super) positions: Vec<usize>,
    /// True for each variant if the file counts the other allele of that variant.
    pub(super) is_flipped: Vec<bool>,
}

const MAX_SHOWN_VARIANTS: usize = 3;

impl VariantMatch {
    /// Finds each variant of the model in the file, by its id and alleles.
    pub(super) fn find(wanted: &Variants, found: &Variants, path: &Path) -> Result<Self, Error> {
        if wanted == found {
            return Ok(Self {
                positions: (0..found.ids.len()).collect(),
                is_flipped: vec![false; found.ids.len()],
            });
        }
        let candidates = list_candidates(wanted, found);
        check_no_variant_is_missing(wanted, &candidates, path)?;
        let mut made = Self {
            positions: Vec::new(),
            is_flipped: Vec::new(),
        };
        let alleles = wanted.counted.iter().zip(&wanted.other);
        for (id, (counted, other)) in wanted.ids.iter().zip(alleles) {
            let here = candidates.get(id.as_str()).map_or(&[][..], Vec::as_slice);
            let position = choose_variant((id, [counted, other]), found, here)
                .map_err(|message| fault(path, message))?;
            let here = [text(&found.counted, position), text(&found.other, position)];
            made.positions.push(position);
            made.is_flipped
                .push(!counts_same_allele(here, [counted, other]));
        }
        Ok(made)
    }
}

/// Returns the indices in the file of each variant id. An id may occur several times.
fn list_candidates<'a>(wanted: &'a Variants, found: &Variants) -> HashMap<&'a str, Vec<usize>> {
    let ids = wanted.ids.iter().map(|id| (id.as_str(), Vec::new()));
    let mut candidates: HashMap<&str, Vec<usize>> = ids.collect();
    for (position, id) in found.ids.iter().enumerate() {
        if let Some(here) = candidates.get_mut(id.as_str()) {
            here.push(position);
        }
    }
    candidates
}

/// Returns an error if the file lacks variants of the model.
fn check_no_variant_is_missing(
    wanted: &Variants,
    candidates: &HashMap<&str, Vec<usize>>,
    path: &Path,
) -> Result<(), Error> {
    let is_lost = |id: &&String| candidates.get(id.as_str()).is_none_or(Vec::is_empty);
    let lost: Vec<&str> = wanted
        .ids
        .iter()
        .filter(is_lost)
        .map(String::as_str)
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    let some = lost.get(..MAX_SHOWN_VARIANTS).unwrap_or(&lost).join(", ");
    let more = if lost.len() > MAX_SHOWN_VARIANTS {
        ", ..."
    } else {
        ""
    };
    let message = format!(
        "expected the {} variants that the model reads, {} of them are not in it \
         ({some}{more}); variants are matched by their ids in the .bim",
        format_thousands(as_u64(wanted.ids.len())),
        format_thousands(as_u64(lost.len()))
    );
    Err(fault(path, message))
}

/// The codes that PLINK writes for an allele that does not occur in any genotype of the
/// file.
const MISSING_ALLELES: [&str; 2] = ["0", "."];

/// Returns true if the file and the model count the same allele. One allele may be
/// missing in the file or the model.
fn counts_same_allele(here: [&str; 2], wanted: [&str; 2]) -> bool {
    let [counted, other] = wanted;
    if here == [other, counted] {
        return here == wanted;
    }
    let mut pairs = here.iter().zip(&wanted);
    pairs.any(|(here, wanted)| here == wanted && !MISSING_ALLELES.contains(here))
}

/// Returns true if the file and the model share one allele, and the other allele is
/// missing in the file or the model.
fn shares_one_allele(here: [&str; 2], wanted: [&str; 2]) -> bool {
    let is_missing = |allele: &&str| MISSING_ALLELES.contains(allele);
    let shared: HashSet<&str> = here
        .into_iter()
        .filter(|allele| wanted.contains(allele) && !is_missing(allele))
        .collect();
    shared.len() == 1 && here.iter().chain(&wanted).any(is_missing)
}

/// Returns the index of the only variant in the file that matches the alleles of the
/// model; one of its alleles may be missing.
fn choose_variant(
    (id, alleles): (&str, [&str; 2]),
    found: &Variants,
    here: &[usize],
) -> Result<usize, String> {
    let [counted, other] = alleles;
    let has = |at: usize| [text(&found.counted, at), text(&found.other, at)];
    let fits = |at: &&usize| has(**at) == alleles || has(**at) == [other, counted];
    let mut fitting: Vec<&usize> = here.iter().filter(fits).collect();
    if fitting.is_empty() {
        let shares = |at: &&usize| shares_one_allele(has(**at), alleles);
        fitting = here.iter().filter(shares).collect();
    }
    match fitting.as_slice() {
        [position] => Ok(**position),
        [] => {
            let [one, another] = here.first().map_or([""; 2], |at| has(*at));
            Err(format!(
                "the alleles of {id} are {one} and {another}, expected {counted} and {other}"
            ))
        }
        several => Err(format!(
            "{} variants {id} have the same alleles; keep one of them",
            several.len()
        )),
    }
}

fn text(column: &[String], position: usize) -> &str {
    column.get(position).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(rows: &[(&str, &str, &str)]) -> Variants {
        let column = |pick: fn(&(&str, &str, &str)) -> String| rows.iter().map(pick).collect();
        Variants {
            ids: column(|row| row.0.to_owned()),
            counted: column(|row| row.1.to_owned()),
            other: column(|row| row.2.to_owned()),
        }
    }

    fn find(wanted: &Variants, found: &Variants) -> Result<VariantMatch, String> {
        VariantMatch::find(wanted, found, Path::new("a.bed")).map_err(|error| error.to_string())
    }

    #[test]
    fn variants_are_found_in_any_order_and_with_flipped_alleles() {
        let wanted = variants(&[("rs1", "A", "G"), ("rs2", "C", "T")]);
        let file = variants(&[("rs2", "T", "C"), ("rs1", "A", "T"), ("rs1", "A", "G")]);
        let found = find(&wanted, &file).unwrap();
        assert_eq!(
            (found.positions, found.is_flipped),
            (vec![2, 0], vec![false, true])
        );
    }

    #[test]
    fn a_variant_with_a_missing_allele_is_found_by_its_other_allele() {
        let wanted = variants(&[("rs1", "A", "G")]);
        for (counted, other, is_flipped) in [
            ("0", "G", false),
            ("G", "0", true),
            ("A", ".", false),
            (".", "A", true),
        ] {
            let found = find(&wanted, &variants(&[("rs1", counted, other)])).unwrap();
            assert_eq!(found.is_flipped, [is_flipped]);
        }
        assert!(find(&wanted, &variants(&[("rs1", "0", "C")])).is_err());
        assert!(find(&wanted, &variants(&[("rs1", "0", "0")])).is_err());
    }

    #[test]
    fn a_missing_variant_is_named_in_the_error() {
        let wanted = variants(&[("rs1", "A", "G"), ("rs2", "C", "T")]);
        let error = find(&wanted, &variants(&[("rs2", "C", "T")])).unwrap_err();
        assert_eq!(
            error,
            "a.bed: expected the 2 variants that the model reads, 1 of them are not in it \
             (rs1); variants are matched by their ids in the .bim"
        );
    }

    #[test]
    fn different_alleles_and_duplicates_are_errors() {
        let wanted = variants(&[("rs1", "A", "G")]);
        let error = find(&wanted, &variants(&[("rs1", "A", "T")])).unwrap_err();
        assert_eq!(
            error,
            "a.bed: the alleles of rs1 are A and T, expected A and G"
        );
        let twice = variants(&[("rs1", "A", "G"), ("rs1", "G", "A")]);
        let error = find(&wanted, &twice).unwrap_err();
        assert_eq!(
            error,
            "a.bed: 2 variants rs1 have the same alleles; keep one of them"
        );
    }
}
