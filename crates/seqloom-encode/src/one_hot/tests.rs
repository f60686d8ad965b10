use proptest::prelude::*;
use seqloom_core::{Error, Ragged};

use super::{Counts, Layout, Table};
use crate::{Case, Unknown};

fn table(alphabet: &str) -> Table {
    Table::new(alphabet, Unknown::Zeros, Case::Fold).unwrap()
}

fn offsets(sequences: &[Vec<u8>]) -> Vec<i64> {
    let mut all = vec![0];
    for letters in sequences {
        all.push(all[all.len() - 1] + i64::try_from(letters.len()).unwrap());
    }
    all
}

/// One sequence, channels last.
fn encode(table: &Table, letters: &[u8]) -> Result<(Vec<f32>, Counts), Error> {
    let offsets = offsets(&[letters.to_vec()]);
    let mut out = vec![7.0; letters.len() * table.width()];
    let all = Ragged::new(letters, &offsets)?;
    let layout = Layout::new([1, letters.len(), table.width()], false);
    let counts = table.fill(&all, &mut out, layout)?;
    Ok((out, counts))
}

fn row(table: &Table, letters: &[u8]) -> Vec<f32> {
    encode(table, letters).unwrap().0
}

/// Where a letter is refused.
fn refused(table: &Table, letters: &[u8]) -> Option<(usize, u8)> {
    match encode(table, letters) {
        Err(Error::Letter {
            position, letter, ..
        }) => Some((position, letter)),
        _ => None,
    }
}

#[test]
fn each_member_has_its_channel() {
    assert_eq!(
        row(&table("dna"), b"GA"),
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    );
}

#[test]
fn a_code_is_zeros_uniform_or_its_share() {
    let of = |unknown| row(&Table::new("dna", unknown, Case::Fold).unwrap(), b"R");
    assert_eq!(of(Unknown::Zeros), [0.0; 4]);
    assert_eq!(of(Unknown::Uniform), [0.25; 4]);
    assert_eq!(of(Unknown::Fractional), [0.5, 0.0, 0.5, 0.0]);
}

#[test]
fn a_code_is_refused_on_request() {
    let strict = Table::new("dna", Unknown::Error, Case::Fold).unwrap();
    assert_eq!(refused(&strict, b"ACnT"), Some((2, b'n')));
}

#[test]
fn lower_case_is_folded_masked_kept_or_refused() {
    let of = |case| Table::new("dna", Unknown::Zeros, case).unwrap();
    assert_eq!(row(&of(Case::Fold), b"c"), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(row(&of(Case::Mask), b"c"), [0.0; 4]);
    assert_eq!(refused(&of(Case::Keep), b"Ac"), Some((1, b'c')));
    assert_eq!(refused(&of(Case::Error), b"Ac"), Some((1, b'c')));
}

#[test]
fn kept_lower_case_may_be_a_letter_of_its_own() {
    let both = Table::new("Aa", Unknown::Zeros, Case::Keep).unwrap();
    assert_eq!(row(&both, b"aA"), [0.0, 1.0, 1.0, 0.0]);
    assert!(Table::new("Aa", Unknown::Zeros, Case::Fold).is_err());
}

#[test]
fn codes_and_lower_case_are_counted() {
    let (_, counts) = encode(&table("dna"), b"ACnNr").unwrap();
    assert_eq!(
        counts,
        Counts {
            ambiguous: 3,
            lower: 2
        }
    );
}

#[test]
fn a_foreign_letter_is_refused_whatever_the_policy() {
    for unknown in [
        Unknown::Zeros,
        Unknown::Uniform,
        Unknown::Fractional,
        Unknown::Error,
    ] {
        let table = Table::new("dna", unknown, Case::Fold).unwrap();
        for letter in *b"UEJ-*.!\0\xff" {
            assert_eq!(refused(&table, &[b'A', letter]), Some((1, letter)));
        }
    }
}

#[test]
fn a_stop_may_only_end_a_protein() {
    assert_eq!(row(&table("protein"), b"*"), [0.0; 20]);
    assert_eq!(refused(&table("protein"), b"MK*"), None);
    assert_eq!(refused(&table("protein"), b"M*K*"), Some((1, b'*')));
}

#[test]
fn the_error_names_the_first_foreign_letter_and_what_is_taken() {
    let sequences = Ragged::new(b"ACGUU", &[0, 3, 5]).unwrap();
    let mut out = [0_u8; 24];
    let error = table("dna")
        .fill(&sequences, &mut out, Layout::new([2, 4, 3], true))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 1, position 0: expected one of ACGT or a code of RYSWKMBDHVN; \
         U is a letter of alphabet 'rna', found 'U'"
    );
}

#[test]
fn places_beyond_the_end_become_zero() {
    let sequences = Ragged::new(b"A", &[0, 1, 1]).unwrap();
    let mut out = [7_u8; 16];
    table("dna")
        .fill(&sequences, &mut out, Layout::new([2, 4, 2], true))
        .unwrap();
    assert_eq!(out[0], 1);
    assert_eq!(out[1..], [0; 15]);
}

#[test]
fn a_sequence_longer_than_the_row_is_an_error() {
    let sequences = Ragged::new(b"ACG", &[0, 3]).unwrap();
    let mut out = [0_u8; 8];
    let error = table("dna")
        .fill(&sequences, &mut out, Layout::new([1, 4, 2], true))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "sequence 0 has 3 letters, more than the 2 places of the array"
    );
}

#[test]
fn fractions_do_not_go_into_bytes() {
    let shares = Table::new("dna", Unknown::Fractional, Case::Fold).unwrap();
    let sequences = Ragged::new(b"A", &[0, 1]).unwrap();
    assert!(
        shares
            .fill(&sequences, &mut [0_u8; 4], Layout::new([1, 4, 1], true))
            .is_err()
    );
}

#[test]
fn a_pool_gives_the_same_numbers_and_the_same_error() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let mut data = b"ACGTNacgtn".repeat(4_000);
    let offsets: Vec<i64> = (0..=400).map(|i| i * 100).collect();
    let fill = |data: &[u8]| {
        let mut out = vec![0.0_f32; 4 * data.len()];
        let counts = table("dna").fill(
            &Ragged::new(data, &offsets)?,
            &mut out,
            Layout::new([400, 4, 100], true),
        )?;
        Ok::<_, Error>((out, counts))
    };
    assert_eq!(fill(&data), pool.install(|| fill(&data)));
    data[11_234] = b'!';
    data[31_234] = b'?';
    assert_eq!(fill(&data), pool.install(|| fill(&data)));
}

fn dna() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"ACGTRYSWKMBDHVN".to_vec()), 1..80)
}

proptest! {
    #[test]
    fn decodes_to_what_was_encoded(letters in dna()) {
        let shares = Table::new("dna", Unknown::Fractional, Case::Fold).unwrap();
        let decoded = shares.decode(&row(&shares, &letters), Layout::new([1, letters.len(), 4], false));
        prop_assert_eq!(decoded.unwrap(), [letters]);
    }

    #[test]
    fn channels_first_is_channels_last_transposed(letters in dna(), spare in 0_usize..5) {
        let (table, length) = (table("dna"), letters.len() + spare);
        let offsets = offsets(std::slice::from_ref(&letters));
        let all = Ragged::new(&letters, &offsets).unwrap();
        let (mut first, mut last) = (vec![7.0_f32; length * 4], vec![7.0_f64; length * 4]);
        table.fill(&all, &mut first, Layout::new([1, 4, length], true)).unwrap();
        table.fill(&all, &mut last, Layout::new([1, length, 4], false)).unwrap();
        for (place, channel) in (0..length).flat_map(|p| (0..4).map(move |c| (p, c))) {
            prop_assert!((f64::from(first[channel * length + place]) - last[place * 4 + channel]).abs() < 1e-12);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(letters: Vec<u8>) {
        for alphabet in ["dna", "rna", "protein", "iupac", "HEC"] {
            let _ = encode(&table(alphabet), &letters);
        }
    }
}
