use proptest::prelude::*;
use seqloom_core::{Error, Ragged};

use super::LetterTable;
use crate::{Case, Frame, Lookup, Policy, Rare, RowLayout, Symbols, fill};

fn letters(alphabet: &str, policy: Policy) -> LetterTable {
    LetterTable::new(alphabet, policy).unwrap()
}

/// Returns the residue of each character, and the counts of special characters by kind.
fn encode(table: &LetterTable, sequence: &[u8]) -> Result<(Vec<u8>, [i64; 7]), Error> {
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

/// Returns the position and the byte of the first rejected character.
fn rejection(table: &LetterTable, sequence: &[u8]) -> Option<(usize, u8)> {
    match encode(table, sequence) {
        Err(Error::Letter {
            position, letter, ..
        }) => Some((position, letter)),
        _ => None,
    }
}

#[test]
fn lower_case_is_folded_masked_kept_or_rejected() {
    let of = |case| {
        letters(
            "dna",
            Policy {
                case,
                ..Policy::default()
            },
        )
    };
    assert_eq!(encode(&of(Case::Fold), b"cN").unwrap().0, b"CN");
    assert_eq!(encode(&of(Case::Mask), b"cN").unwrap().0, b"\0N");
    assert_eq!(rejection(&of(Case::Keep), b"Ac"), Some((1, b'c')));
    assert_eq!(rejection(&of(Case::Error), b"Ac"), Some((1, b'c')));
}

#[test]
fn an_alphabet_may_contain_lower_case() {
    let keep = Policy {
        case: Case::Keep,
        ..Policy::default()
    };
    assert_eq!(encode(&letters("Aa", keep), b"aA").unwrap().0, b"aA");
    assert!(LetterTable::new("Aa", Policy::default()).is_err());
}

#[test]
fn an_ambiguity_code_is_counted_or_rejected() {
    let strict = Policy {
        codes: false,
        ..Policy::default()
    };
    assert_eq!(rejection(&letters("dna", strict), b"ACnT"), Some((2, b'n')));
    let (_, counts) = encode(&letters("dna", Policy::default()), b"ACnNr").unwrap();
    assert_eq!(counts, [3, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn the_policy_determines_how_u_and_o_are_read() {
    let of = |rare| {
        letters(
            "protein",
            Policy {
                rare,
                ..Policy::default()
            },
        )
    };
    assert_eq!(rejection(&of(Rare::Error), b"MU"), Some((1, b'U')));
    for (rare, normal) in [
        (Rare::Zeros, b"M\0\0\0"),
        (Rare::Unknown, b"MXXX"),
        (Rare::Replace, b"MCKC"),
        (Rare::Keep, b"MUOU"),
    ] {
        let (found, counts) = encode(&of(rare), b"MUOu").unwrap();
        assert_eq!(found, normal);
        assert_eq!(counts, [0, 1, 3, 0, 0, 0, 0]);
    }
    assert_eq!(of(Rare::Keep).members().len(), 22);
}

#[test]
fn the_policy_determines_how_symbols_are_read() {
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
        encode(&strip, b"MK*").unwrap(),
        (b"MK_".to_vec(), [0, 0, 0, 0, 1, 0, 0])
    );
    assert_eq!(rejection(&strip, b"M*K*"), Some((1, b'*')));
    assert_eq!(rejection(&of(Symbols::Error), b"MK*"), Some((2, b'*')));
    assert_eq!(encode(&of(Symbols::Zeros), b"-*.").unwrap().0, b"\0\0\0");
    assert_eq!(
        encode(&of(Symbols::Keep), b"-*.").unwrap().1,
        [0, 0, 0, 3, 0, 0, 0]
    );
}

#[test]
fn dna_reads_u_as_t_only_with_rna_as_dna() {
    let policy = Policy {
        rna_as_dna: true,
        ..Policy::default()
    };
    assert_eq!(
        encode(&letters("dna", policy), b"Uu").unwrap(),
        (b"TT".to_vec(), [0, 1, 0, 0, 0, 2, 0])
    );
    assert!(LetterTable::new("protein", policy).is_err());
    assert!(LetterTable::new("rna", policy).is_err());
}

#[test]
fn the_error_names_the_first_invalid_character_and_the_accepted_ones() {
    let table = letters("dna", Policy::default());
    assert_eq!(
        encode(&table, b"AUU").unwrap_err().to_string(),
        "sequence 0, position 1: found 'U', expected one of ACGT or a code of RYSWKMBDHVN; \
         U needs alphabet 'rna', or rna_as_dna=True (--rna-as-dna, of train), which reads it as T"
    );
}

#[test]
fn an_amino_acid_in_dna_or_rna_gives_a_hint() {
    for (alphabet, expected) in [("dna", "'dna' is read"), ("rna", "'rna' is read")] {
        let table = letters(alphabet, Policy::default());
        let text = encode(&table, b"ACL").unwrap_err().to_string();
        assert!(text.contains("this looks like protein, but"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_range_accepts_only_its_bytes() {
    let scores = LetterTable::range(b'!', b'~', "a quality");
    assert_eq!(encode(&scores, b"!*~").unwrap().0, b"!*~");
    assert_eq!(rejection(&scores, b"! "), Some((1, b' ')));
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
    /// Compares the flags of the vector instructions with the table for each character.
    #[test]
    fn a_chunk_gets_the_flags_of_its_characters(
        policy in policies(),
        alphabet in prop::sample::select(vec!["dna", "protein", "iupac"]),
        sequence in prop::collection::vec(prop::sample::select(b"ACGTacgtNnMKL*!{@[`".to_vec()), 0..200),
    ) {
        let table = letters(alphabet, policy);
        let sequence_without_stop = table.stripped(&sequence);
        let invalid = sequence_without_stop.iter().position(|letter| table.rejected_bytes().contains(letter) || *letter == b'*' && table.strips_stop());
        prop_assert_eq!(rejection(&table, &sequence).map(|(position, _)| position), invalid);
        if let Ok((_, counts)) = encode(&table, &sequence) {
            let lower = sequence_without_stop.iter().filter(|letter| letter.is_ascii_lowercase()).count();
            let is_counted = matches!(policy.case, Case::Fold | Case::Mask);
            prop_assert_eq!(counts[1], if is_counted { i64::try_from(lower).unwrap() } else { 0 });
        }
    }

    #[test]
    fn any_bytes_are_accepted_or_give_an_error(sequence: Vec<u8>) {
        for alphabet in ["dna", "rna", "protein", "iupac"] {
            let _ = encode(&letters(alphabet, Policy::default()), &sequence);
        }
    }
}
