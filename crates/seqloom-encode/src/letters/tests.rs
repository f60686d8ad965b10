use proptest::prelude::*;
use seqloom_core::{Error, Ragged};

use super::LetterTable;
use crate::{CasePolicy, Lookup, Policy, RarePolicy, RowLayout, SymbolPolicy, TokenFrame, encode};

fn new_table(alphabet: &str, policy: Policy) -> LetterTable {
    LetterTable::new(alphabet, policy).unwrap()
}

/// Returns the residue of each character, and the counts of special characters by kind.
fn encode_sequence(table: &LetterTable, sequence: &[u8]) -> Result<(Vec<u8>, [i64; 7]), Error> {
    let offsets = [0, i64::try_from(sequence.len()).unwrap()];
    let all = Ragged::new(sequence, &offsets)?;
    let frame = TokenFrame {
        head: None,
        tail: None,
        pad: b'_',
    };
    let kernel = Lookup::new(table.residue_by_byte(), frame)?;
    let mut out = vec![0; sequence.len()];
    let counts = encode((table, &kernel), &all, &mut out, RowLayout::Equal)?;
    Ok((out, counts.to_array()))
}

/// Returns the position and the byte of the first rejected character.
fn first_rejection(table: &LetterTable, sequence: &[u8]) -> Option<(usize, u8)> {
    match encode_sequence(table, sequence) {
        Err(Error::Letter {
            position, letter, ..
        }) => Some((position, letter)),
        _ => None,
    }
}

#[test]
fn lower_case_is_folded_masked_kept_or_rejected() {
    let of = |case| {
        new_table(
            "dna",
            Policy {
                case,
                ..Policy::default()
            },
        )
    };
    assert_eq!(
        encode_sequence(&of(CasePolicy::Fold), b"cN").unwrap().0,
        b"CN"
    );
    assert_eq!(
        encode_sequence(&of(CasePolicy::Mask), b"cN").unwrap().0,
        b"\0N"
    );
    assert_eq!(
        first_rejection(&of(CasePolicy::Keep), b"Ac"),
        Some((1, b'c'))
    );
    assert_eq!(
        first_rejection(&of(CasePolicy::Error), b"Ac"),
        Some((1, b'c'))
    );
}

#[test]
fn an_alphabet_may_contain_lower_case() {
    let keep = Policy {
        case: CasePolicy::Keep,
        ..Policy::default()
    };
    assert_eq!(
        encode_sequence(&new_table("Aa", keep), b"aA").unwrap().0,
        b"aA"
    );
    assert!(LetterTable::new("Aa", Policy::default()).is_err());
}

#[test]
fn an_ambiguity_code_is_counted_or_rejected() {
    let strict = Policy {
        codes: false,
        ..Policy::default()
    };
    assert_eq!(
        first_rejection(&new_table("dna", strict), b"ACnT"),
        Some((2, b'n'))
    );
    let (_, counts) = encode_sequence(&new_table("dna", Policy::default()), b"ACnNr").unwrap();
    assert_eq!(counts, [3, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn the_policy_determines_how_u_and_o_are_read() {
    let of = |rare| {
        new_table(
            "protein",
            Policy {
                rare,
                ..Policy::default()
            },
        )
    };
    assert_eq!(
        first_rejection(&of(RarePolicy::Error), b"MU"),
        Some((1, b'U'))
    );
    for (rare, normal) in [
        (RarePolicy::Zeros, b"M\0\0\0"),
        (RarePolicy::Unknown, b"MXXX"),
        (RarePolicy::Replace, b"MCKC"),
        (RarePolicy::Keep, b"MUOU"),
    ] {
        let (found, counts) = encode_sequence(&of(rare), b"MUOu").unwrap();
        assert_eq!(found, normal);
        assert_eq!(counts, [0, 1, 3, 0, 0, 0, 0]);
    }
    assert_eq!(of(RarePolicy::Keep).residues().len(), 22);
}

#[test]
fn the_policy_determines_how_symbols_are_read() {
    let of = |symbols| {
        new_table(
            "protein",
            Policy {
                symbols,
                ..Policy::default()
            },
        )
    };
    let strip = of(SymbolPolicy::StripTerminalStop);
    assert_eq!(
        encode_sequence(&strip, b"MK*").unwrap(),
        (b"MK_".to_vec(), [0, 0, 0, 0, 1, 0, 0])
    );
    assert_eq!(first_rejection(&strip, b"M*K*"), Some((1, b'*')));
    assert_eq!(
        first_rejection(&of(SymbolPolicy::Error), b"MK*"),
        Some((2, b'*'))
    );
    assert_eq!(
        encode_sequence(&of(SymbolPolicy::Zeros), b"-*.").unwrap().0,
        b"\0\0\0"
    );
    assert_eq!(
        encode_sequence(&of(SymbolPolicy::Keep), b"-*.").unwrap().1,
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
        encode_sequence(&new_table("dna", policy), b"Uu").unwrap(),
        (b"TT".to_vec(), [0, 1, 0, 0, 0, 2, 0])
    );
    assert!(LetterTable::new("protein", policy).is_err());
    assert!(LetterTable::new("rna", policy).is_err());
}

#[test]
fn the_error_names_the_first_invalid_character_and_the_accepted_ones() {
    let table = new_table("dna", Policy::default());
    assert_eq!(
        encode_sequence(&table, b"AUU").unwrap_err().to_string(),
        "sequence 0, position 1: found 'U', expected one of ACGT or a code of RYSWKMBDHVN; \
         U needs alphabet 'rna', or rna_as_dna=True (--rna-as-dna, of train), which reads it as T"
    );
}

#[test]
fn an_amino_acid_in_dna_or_rna_gives_a_hint() {
    for (alphabet, expected) in [("dna", "'dna' is read"), ("rna", "'rna' is read")] {
        let table = new_table(alphabet, Policy::default());
        let text = encode_sequence(&table, b"ACL").unwrap_err().to_string();
        assert!(text.contains("this looks like protein, but"), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_range_accepts_only_its_bytes() {
    let scores = LetterTable::range(b'!', b'~', "a quality");
    assert_eq!(encode_sequence(&scores, b"!*~").unwrap().0, b"!*~");
    assert_eq!(first_rejection(&scores, b"! "), Some((1, b' ')));
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let case = prop::sample::select(vec![
        CasePolicy::Fold,
        CasePolicy::Mask,
        CasePolicy::Keep,
        CasePolicy::Error,
    ]);
    let symbols = prop::sample::select(vec![SymbolPolicy::StripTerminalStop, SymbolPolicy::Zeros]);
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
        policy in any_policy(),
        alphabet in prop::sample::select(vec!["dna", "protein", "iupac"]),
        sequence in prop::collection::vec(prop::sample::select(b"ACGTacgtNnMKL*!{@[`".to_vec()), 0..200),
    ) {
        let table = new_table(alphabet, policy);
        let sequence_without_stop = table.strip_stop(&sequence);
        let invalid = sequence_without_stop.iter().position(|letter| table.rejected_bytes().contains(letter) || *letter == b'*' && table.strips_stop());
        prop_assert_eq!(first_rejection(&table, &sequence).map(|(position, _)| position), invalid);
        if let Ok((_, counts)) = encode_sequence(&table, &sequence) {
            let lower = sequence_without_stop.iter().filter(|letter| letter.is_ascii_lowercase()).count();
            let is_counted = matches!(policy.case, CasePolicy::Fold | CasePolicy::Mask);
            prop_assert_eq!(counts[1], if is_counted { i64::try_from(lower).unwrap() } else { 0 });
        }
    }

    #[test]
    fn any_bytes_are_accepted_or_give_an_error(sequence: Vec<u8>) {
        for alphabet in ["dna", "rna", "protein", "iupac"] {
            let _ = encode_sequence(&new_table(alphabet, Policy::default()), &sequence);
        }
    }
}
