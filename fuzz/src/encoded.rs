//! Encodes sequences with invalid characters.

use seqloom_core::Ragged;
use seqloom_encode::{
    CasePolicy, KmerNumbering, LetterTable, Policy, RarePolicy, SymbolPolicy, TokenFrame, count,
    pack,
};

use crate::choices::Choices;
use crate::slow::{SimpleEncoder, WordSettings};

/// Makes sequences as the fuzzer chooses, and encodes the sequences.
pub fn run(mut choices: Choices<'_>) {
    pack_hostile(&mut choices);
    let Some(letters) = letter_table(&mut choices) else {
        return;
    };
    let (k, stride) = (choices.below(9), choices.below(5));
    let is_canonical = choices.one_in(2);
    let style = choices.byte();
    let (data, offsets) = make_sequences(&letters, choices);
    let slow = SimpleEncoder {
        letters: &letters,
        sequences: &Ragged::new(&data, &offsets).expect("the offsets ascend"),
        more: usize::from(style % 7),
    };
    slow.one_hot(style.is_multiple_of(2));
    slow.look_up(frame(style));
    if let Ok(words) = KmerNumbering::new(&letters, k, stride, is_canonical) {
        slow.words(
            &WordSettings {
                words,
                k,
                stride,
                is_canonical,
            },
            frame(style),
        );
    }
    let counts = count::count_bytes(&data);
    assert!((0..=u8::MAX).all(|byte| {
        let wanted = data.iter().filter(|letter| **letter == byte).count();
        counts[usize::from(byte)] == wanted as i64
    }));
}

/// Encodes sequences with arbitrary lengths and offsets.
fn pack_hostile(choices: &mut Choices<'_>) {
    let size = choices.below(6);
    let numbers: Vec<i64> = (0..size).map(|_| choices.number().cast_signed()).collect();
    let room = choices.number().cast_signed();
    if let Ok(chosen) = pack::best_fit(&numbers, room) {
        let used: i128 = chosen
            .iter()
            .map(|at| i128::from(numbers[*at as usize]))
            .sum();
        assert!(used <= i128::from(room) || numbers.is_empty());
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
    }
    let mut out = vec![-1; choices.below(40)];
    if pack::write_positions(&numbers, &mut out).is_ok() {
        assert!(!out.contains(&-1));
    }
    let picked = [choices.number().cast_signed(), 0];
    if let Ok(found) = Ragged::new(b"ACGTACGT", &numbers) {
        assert!(found.iter().map(<[u8]>::len).sum::<usize>() <= 8);
    }
    if let Ok(found) = Ragged::select_rows(b"ACGTACGT", &numbers, &picked) {
        assert!(found.iter().all(|letters| letters.len() <= 8));
    }
}

fn letter_table(choices: &mut Choices<'_>) -> Option<LetterTable> {
    let alphabets = ["dna", "rna", "protein", "iupac", "ACGTacgt", "AB", "ACGT-*"];
    let policy = Policy {
        codes: !choices.one_in(3),
        case: [
            CasePolicy::Fold,
            CasePolicy::Mask,
            CasePolicy::Keep,
            CasePolicy::Error,
        ][choices.below(4)],
        rna_as_dna: choices.one_in(4),
        rare: [
            RarePolicy::Error,
            RarePolicy::Zeros,
            RarePolicy::Unknown,
            RarePolicy::Replace,
            RarePolicy::Keep,
        ][choices.below(5)],
        symbols: [
            SymbolPolicy::StripTerminalStop,
            SymbolPolicy::Error,
            SymbolPolicy::Zeros,
            SymbolPolicy::Keep,
        ][choices.below(4)],
    };
    LetterTable::new(alphabets[choices.below(alphabets.len())], policy).ok()
}

/// Makes sequences of characters; most characters are valid.
fn make_sequences(letters: &LetterTable, mut choices: Choices<'_>) -> (Vec<u8>, Vec<i64>) {
    let (is_raw, case) = (choices.one_in(4), choices.byte());
    let taken: Vec<u8> = (0..=u8::MAX)
        .filter(|byte| !letters.rejected_bytes().contains(byte))
        .collect();
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    while !choices.is_empty() && offsets.len() < 30 {
        let size = choices.below(150);
        let one = |byte: &u8| match byte {
            _ if is_raw => *byte,
            byte if *byte >= case => taken[usize::from(*byte) % taken.len()],
            byte => letters.residues()[usize::from(*byte) % letters.residues().len()],
        };
        data.extend(choices.bytes(size).iter().map(one));
        offsets.push(data.len() as i64);
    }
    (data, offsets)
}

fn frame(style: u8) -> TokenFrame<u32> {
    TokenFrame {
        head: (style & 8 > 0).then_some(1000),
        tail: (style & 16 > 0).then_some(1001),
        pad: 1002,
    }
}
