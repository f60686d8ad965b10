use proptest::prelude::*;
use seqloom_core::Ragged;

use super::{KmerCounts, KmerNumbering, Kmers};
use crate::{LetterTable, Policy, RowKernel, RowLayout, TokenFrame, encode};

const TOKEN_FRAME: TokenFrame<u64> = TokenFrame {
    head: Some(900),
    tail: Some(901),
    pad: 902,
};

fn dna_table() -> LetterTable {
    LetterTable::new("dna", Policy::default()).unwrap()
}

fn encode_kmers(kernel: &dyn RowKernel<u64>, sequence: &[u8], positions: usize) -> Vec<u64> {
    let offsets = [0, i64::try_from(sequence.len()).unwrap()];
    let all = Ragged::new(sequence, &offsets).unwrap();
    let mut out = vec![7; positions];
    encode((&dna_table(), kernel), &all, &mut out, RowLayout::Equal).unwrap();
    out
}

fn kmer_number(word: &[u8]) -> Option<u64> {
    let digit = |letter: &u8| b"ACGT".iter().position(|member| member == letter);
    word.iter()
        .try_fold(0, |number, letter| Some(number * 4 + digit(letter)? as u64))
}

fn reverse_complement(word: &[u8]) -> Vec<u8> {
    let other = |letter: &u8| match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    };
    word.iter().rev().map(other).collect()
}

#[test]
fn tokens_are_between_the_special_tokens() {
    let words = KmerNumbering::new(&dna_table(), 2, 1, false).unwrap();
    let kernel = Kmers {
        words,
        first: 4,
        unknown: 3,
        frame: TOKEN_FRAME,
    };
    assert_eq!(
        encode_kmers(&kernel, b"AACN", 7),
        [900, 4, 5, 3, 901, 902, 902]
    );
    assert_eq!(encode_kmers(&kernel, b"A", 2), [900, 901]);
}

#[test]
fn counts_are_converted_to_floats_of_the_same_size() {
    let words = KmerNumbering::new(&dna_table(), 1, 1, false).unwrap();
    let kernel = KmerCounts {
        words,
        is_float: true,
    };
    let counts = encode_kmers(&kernel, b"ACCN", 4)
        .into_iter()
        .map(f64::from_bits);
    assert!(counts.eq([1.0, 2.0, 0.0, 0.0]));
}

#[test]
fn invalid_k_stride_and_alphabet_are_errors() {
    for (k, stride, is_canonical) in [(0, 1, false), (3, 0, false), (32, 1, false)] {
        assert!(KmerNumbering::new(&dna_table(), k, stride, is_canonical).is_err());
    }
    let custom = LetterTable::new("HEC", Policy::default()).unwrap();
    assert!(KmerNumbering::new(&custom, 2, 1, true).is_err());
}

proptest! {
    #[test]
    fn blocks_of_k_mers_have_the_numbers_of_single_k_mers(
        mut sequence in prop::collection::vec(prop::sample::select(b"ACGTN".to_vec()), 0..200),
        k in 1_usize..20,
        stride in prop_oneof![Just(1_usize), 1_usize..80],
        (is_canonical, is_plain, is_lower) in any::<(bool, bool, bool)>(),
    ) {
        if is_plain {
            sequence.retain(|letter| *letter != b'N');
        }
        let words = KmerNumbering::new(&dna_table(), k, stride, is_canonical).unwrap();
        let count = words.kmer_count(sequence.len());
        let kernel = Kmers { words, first: 0, unknown: u64::MAX, frame: TokenFrame { head: None, tail: None, pad: 0 } };
        let slow: Vec<u64> = sequence.windows(k).step_by(stride).map(|word| match kmer_number(word) {
            None => u64::MAX,
            Some(forward) if is_canonical => forward.min(kmer_number(&reverse_complement(word)).unwrap()),
            Some(forward) => forward,
        }).collect();
        prop_assert_eq!(count, slow.len());
        if is_lower {
            sequence.make_ascii_lowercase();
        }
        prop_assert_eq!(encode_kmers(&kernel, &sequence, count), slow);
    }
}
