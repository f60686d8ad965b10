use proptest::prelude::*;
use seqloom_core::{Error, Ragged};

use super::LetterTable;
use crate::{Case, Frame, Lookup, Policy, Rare, RowLayout, Symbols, fill};

fn letters(alphabet: &str, policy: Policy) -> LetterTable {
    LetterTable::new(alphabet, policy).unwrap()
}

/// What each letter counts as, and how many of each kind were met.
fn met(table: &LetterTable, sequence: &[u8]) -> Result<(Vec<u8>, [i64; 7]), Error> {
    let offsets = [0, i64::try_from(sequence.len()).unwrap()];
    let all = Ragged::new(sequence, &offsets)?;
    let frame = Frame {
        head: None,
        tail: None,
        pad: b'_',
    };
    let kernel = Lookup::new(table.normal(), frame)?;
    let mut out = vec![0; sequence.len()];
    let counts = fill((table, &kernel), &all, &mut out, RowLayout::Equal)?;
    Ok((out, counts.to_array()))
}

/// Where a letter is refused.
fn refused(table: &LetterTable, sequence: &[u8]) -> Option<(usize, u8)> {
    match met(table, sequence) {
        Err(Error::Letter {
            position, letter, ..
        }) => Some((position, letter)),
        _ => None,
    }
}

#[test]
fn lower_case_is_folded_masked_kept_or_refused() {
    let of = |case| {
        letters(
            "dna",
            Policy {
                case,
                ..Policy::default()
            },
        )
    };
    assert_eq!(met(&of(Case::Fold), b"cN").unwrap().0, b"CN");
    assert_eq!(met(&of(Case::Mask), b"cN").unwrap().0, b"\0N");
    assert_eq!(refused(&of(Case::Keep), b"Ac"), Some((1, b'c')));
    assert_eq!(refused(&of(Case::Error), b"Ac"), Some((1, b'c')));
}

#[test]
fn kept_lower_case_may_be_a_letter_of_its_own() {
    let keep = Policy {
        case: Case::Keep,
        ..Policy::default()
    };
    assert_eq!(met(&letters("Aa", keep), b"aA").unwrap().0, b"aA");
    assert!(LetterTable::new("Aa", Policy::default()).is_err());
}

#[test]
fn a_code_is_counted_or_refused() {
    let strict = Policy {
        codes: false,
        ..Policy::default()
    };
    assert_eq!(refused(&letters("dna", strict), b"ACnT"), Some((2, b'n')));
    let (_, counts) = met(&letters("dna", Policy::default()), b"ACnNr").unwrap();
    assert_eq!(counts, [3, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn u_and_o_are_what_rare_says() {
    let of = |rare| {
        letters(
            "protein",
            Policy {
                rare,
                ..Policy::default()
            },
        )
    };
    assert_eq!(refused(&of(Rare::Error), b"MU"), Some((1, b'U')));
    for (rare, normal) in [
        (Rare::Zeros, b"M\0\0\0"),
        (Rare::Unknown, b"MXXX"),
        (Rare::Reposition, b"MCKC"),
        (Rare::Keep, b"MUOU"),
    ] {
        let (found, counts) = met(&of(rare), b"MUOu").unwrap();
        assert_eq!(found, normal);
        assert_eq!(counts, [0, 1, 3, 0, 0, 0, 0]);
    }
    assert_eq!(of(Rare::Keep).members().len(), 22);
}

#[test]
fn symbols_are_what_the_policy_says() {
    let of = |symbols| {
        letters(
            "protein",
            Policy {
                symbols,
                ..Policy::default()
            },
        )
    };
    let strip = of(Symbols::StripTerminalStop);
    assert_eq!(
        met(&strip, b"MK*").unwrap(),
        (b"MK_".to_vec(), [0, 0, 0, 0, 1, 0, 0])
    );
    assert_eq!(refused(&strip, b"M*K*"), Some((1, b'*')));
    assert_eq!(refused(&of(Symbols::Error), b"MK*"), Some((2, b'*')));
    assert_eq!(met(&of(Symbols::Zeros), b"-*.").unwrap().0, b"\0\0\0");
    assert_eq!(
        met(&of(Symbols::Keep), b"-*.").unwrap().1,
        [0, 0, 0, 3, 0, 0, 0]
    );
}

#[test]
fn dna_reads_u_as_t_only_if_told() {
    let policy = Policy {
        rna_as_dna: true,
        ..Policy::default()
    };
    assert_eq!(
        met(&letters("dna", policy), b"Uu").unwrap(),
        (b"TT".to_vec(), [0, 1, 0, 0, 0, 2, 0])
    );
    assert!(LetterTable::new("protein", policy).is_err());
    assert!(LetterTable::new("rna", policy).is_err());
}

#[test]
fn the_error_names_the_first_foreign_letter_and_what_is_taken() {
    let table = letters("dna", Policy::default());
    assert_eq!(
        met(&table, b"AUU").unwrap_err().to_string(),
        "sequence 0, position 1: found 'U', expected one of ACGT or a code of RYSWKMBDHVN; \
         U is a letter of alphabet 'rna', or rna_as_dna=True (--rna-as-dna, of train) reads it as T"
    );
}

#[test]
fn a_letter_that_only_proteins_have_is_said_to_be_one() {
    for (alphabet, said) in [("dna", "'dna' is read"), ("rna", "'rna' is read")] {
        let table = letters(alphabet, Policy::default());
        let text = met(&table, b"ACL").unwrap_err().to_string();
        assert!(text.contains("this looks like protein, but"), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_range_takes_its_bytes_only() {
    let scores = LetterTable::range(b'!', b'~', "a quality");
    assert_eq!(met(&scores, b"!*~").unwrap().0, b"!*~");
    assert_eq!(refused(&scores, b"! "), Some((1, b' ')));
}

fn policies() -> impl Strategy<Value = Policy> {
    let case = prop::sample::select(vec![Case::Fold, Case::Mask, Case::Keep, Case::Error]);
    let symbols = prop::sample::select(vec![Symbols::StripTerminalStop, Symbols::Zeros]);
    (any::<bool>(), case, symbols).prop_map(|(codes, case, symbols)| Policy {
        codes,
        case,
        symbols,
        ..Policy::default()
    })
}

proptest! {
    /// The vectors must agree with the table, letter by letter.
    #[test]
    fn a_chunk_is_judged_like_its_letters(
        policy in policies(),
        alphabet in prop::sample::select(vec!["dna", "protein", "iupac"]),
        sequence in prop::collection::vec(prop::sample::select(b"ACGTacgtNnMKL*!{@[`".to_vec()), 0..200),
    ) {
        let table = letters(alphabet, policy);
        let kept = table.stripped(&sequence);
        let foreign = kept.iter().position(|letter| table.refused().contains(letter) || *letter == b'*' && table.strips());
        prop_assert_eq!(refused(&table, &sequence).map(|(position, _)| position), foreign);
        if let Ok((_, counts)) = met(&table, &sequence) {
            let lower = kept.iter().filter(|letter| letter.is_ascii_lowercase()).count();
            let is_counted = matches!(policy.case, Case::Fold | Case::Mask);
            prop_assert_eq!(counts[1], if is_counted { i64::try_from(lower).unwrap() } else { 0 });
        }
    }

    #[test]
    fn no_bytes_make_it_panic(sequence: Vec<u8>) {
        for alphabet in ["dna", "rna", "protein", "iupac"] {
            let _ = met(&letters(alphabet, Policy::default()), &sequence);
        }
    }
}
