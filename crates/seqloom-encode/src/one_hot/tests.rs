use proptest::prelude::*;
use seqloom_core::{Error, Ragged};

use super::{OneHot, OneHotLayout, decode};
use crate::{LetterTable, Policy, RowLayout, encode};

/// Returns the channels of each byte: a single 1 for a residue, and equal fractions for
/// the residues that an ambiguity code represents.
fn channel_table(letters: &LetterTable) -> Vec<u32> {
    let mut rows = vec![0; 256 * letters.residues().len()];
    for (byte, normal) in letters.residue_by_byte().iter().enumerate() {
        let code = letters
            .ambiguities()
            .iter()
            .find(|(code, _)| code == normal);
        let members = code.map_or(std::slice::from_ref(normal), |(_, codes)| *codes);
        let share = 1.0 / f32::from(u8::try_from(members.len()).unwrap());
        for (channel, member) in letters.residues().iter().enumerate() {
            if members.contains(member) {
                rows[byte * letters.residues().len() + channel] = share.to_bits();
            }
        }
    }
    rows
}

/// Encodes one sequence into a row with this number of positions.
fn encode_sequence(
    sequence: &[u8],
    positions: usize,
    channels_first: bool,
) -> Result<Vec<f32>, Error> {
    let letters = LetterTable::new("dna", Policy::default())?;
    let kernel = OneHot::new(&letters, channel_table(&letters), channels_first)?;
    let mut out = vec![7; positions * 4];
    let offsets = [0, i64::try_from(sequence.len()).unwrap()];
    let all = Ragged::new(sequence, &offsets)?;
    encode((&letters, &kernel), &all, &mut out, RowLayout::Equal)?;
    Ok(out.into_iter().map(f32::from_bits).collect())
}

#[test]
fn each_residue_of_the_alphabet_has_a_channel() {
    let expected = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    assert_eq!(encode_sequence(b"GA", 2, false).unwrap(), expected);
}

#[test]
fn an_ambiguity_code_is_divided_among_its_residues() {
    assert_eq!(
        encode_sequence(b"R", 1, true).unwrap(),
        [0.5, 0.0, 0.5, 0.0]
    );
    assert_eq!(encode_sequence(b"N", 1, false).unwrap(), [0.25; 4]);
}

#[test]
fn positions_after_the_end_are_zero() {
    assert_eq!(
        encode_sequence(b"A", 2, true).unwrap(),
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    );
    assert_eq!(encode_sequence(b"", 1, false).unwrap(), [0.0; 4]);
}

#[test]
fn a_sequence_longer_than_the_row_is_an_error() {
    assert_eq!(
        encode_sequence(b"ACG", 2, true).unwrap_err().to_string(),
        "sequence 0 has 3 residues and needs a row of 12 numbers, got 8"
    );
}

#[test]
fn a_thread_pool_returns_the_same_numbers_and_errors() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let letters = LetterTable::new("dna", Policy::default()).unwrap();
    let kernel = OneHot::new(&letters, channel_table(&letters), true).unwrap();
    let mut data = b"ACGTNacgtn".repeat(4_000);
    let offsets: Vec<i64> = (0..=400).map(|record| record * 100).collect();
    let run = |data: &[u8]| {
        let mut out = vec![0; 4 * data.len()];
        let all = Ragged::new(data, &offsets)?;
        let counts = encode((&letters, &kernel), &all, &mut out, RowLayout::Equal)?;
        Ok::<_, Error>((out, counts))
    };
    assert_eq!(run(&data), pool.install(|| run(&data)));
    data[11_234] = b'!';
    data[31_234] = b'?';
    assert_eq!(run(&data), pool.install(|| run(&data)));
}

fn dna_sequences() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop::sample::select(b"ACGTRYSWKMBDHVNacgt".to_vec()),
        1..200,
    )
}

proptest! {
    #[test]
    fn decoding_returns_the_encoded_sequence(sequence in dna_sequences(), channels_first: bool) {
        let letters = LetterTable::new("dna", Policy::default()).unwrap();
        let numbers = encode_sequence(&sequence, sequence.len(), channels_first).unwrap();
        let sizes = if channels_first { [1, 4, sequence.len()] } else { [1, sequence.len(), 4] };
        let decoded = decode(&letters, &numbers, OneHotLayout::new(sizes, channels_first)).unwrap();
        prop_assert_eq!(decoded, [sequence.to_ascii_uppercase()]);
    }

    #[test]
    fn channels_first_is_the_transpose_of_channels_last(sequence in dna_sequences(), spare in 0_usize..5) {
        let positions = sequence.len() + spare;
        let first = encode_sequence(&sequence, positions, true).unwrap();
        let last = encode_sequence(&sequence, positions, false).unwrap();
        for (position, channel) in (0..positions).flat_map(|p| (0..4).map(move |c| (p, c))) {
            prop_assert_eq!(first[channel * positions + position].to_bits(), last[position * 4 + channel].to_bits());
        }
    }
}
