use proptest::prelude::*;
use seqloom_core::{Key, Ragged};

use super::*;

fn new_chance(probability: f64) -> Chance {
    Chance::new("p", probability).unwrap()
}

fn new_mutation(rates: [f64; 3]) -> Augmentation {
    let letters = Replacement::new("dna").unwrap();
    Augmentation::Mutate(Mutate::new(rates.map(new_chance), letters).unwrap())
}

fn new_complement(probability: f64) -> Augmentation {
    let complement = ReverseComplement::new(new_chance(probability), "dna").unwrap();
    Augmentation::ReverseComplement(complement)
}

fn new_shuffle(k: usize) -> Augmentation {
    Augmentation::ShuffleKmers(ShuffleKmers::new(k).unwrap())
}

/// Applies an augmentation to a sequence. The quality of each residue is its position,
/// to show where the residue came from.
fn apply_augmentation(augmentation: &Augmentation, letters: &[u8], key: Key) -> (Vec<u8>, Vec<u8>) {
    let mut row = AugmentedRow::default();
    let positions: Vec<u8> = (33..127).cycle().take(letters.len()).collect();
    row.load(0, letters, Some(&positions));
    augmentation.apply(&mut row, key).unwrap();
    (row.letters, row.qualities)
}

fn sorted_words(letters: &[u8], k: usize) -> Vec<&[u8]> {
    let mut words: Vec<&[u8]> = letters.windows(k).collect();
    words.sort_unstable();
    words
}

fn all_augmentations() -> Augmentation {
    Augmentation::Compose(vec![
        new_complement(0.5),
        new_mutation([0.1, 0.05, 0.05]),
        Augmentation::Shift(Shift::new(3, Some(b'N')).unwrap()),
        Augmentation::Mask(Mask::new(new_chance(0.1), b'N')),
        new_shuffle(2),
        Augmentation::Crop(Crop::new(20, CropMode::Random).unwrap()),
    ])
}

#[test]
fn ambiguity_codes_are_complemented_and_keep_their_case() {
    let (letters, _) =
        apply_augmentation(&new_complement(1.0), b"ACGTURYSWKMBDHVN-.acgt", Key([1, 2]));
    assert_eq!(letters, b"acgt.-NBDHVKMWSRYAACGT");
}

#[test]
fn a_residue_without_complement_is_an_error_for_any_probability() {
    for probability in [0.0, 1.0] {
        let mut row = AugmentedRow::default();
        row.load(3, b"ACEG", None);
        let error = new_complement(probability)
            .apply(&mut row, Key([0, 0]))
            .unwrap_err();
        assert!(error.to_string().starts_with("sequence 3, position 2"));
    }
}

#[test]
fn a_probability_is_compared_as_an_exact_threshold() {
    assert_eq!(new_chance(1.0).threshold(), 1 << 32);
    assert!(new_chance(1.0).occurs(u32::MAX));
    assert!(!new_chance(0.0).occurs(0));
    assert!(new_chance(0.5).occurs(0x7FFF_FFFF) && !new_chance(0.5).occurs(0x8000_0000));
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert!(Chance::new("p", wrong).is_err());
    }
}

#[test]
fn rates_that_add_up_to_more_than_one_are_an_error() {
    let letters = Replacement::new("dna").unwrap();
    assert!(Mutate::new([0.5, 0.3, 0.3].map(new_chance), letters.clone()).is_err());
    assert!(Mutate::new([1.0 / 3.0; 3].map(new_chance), letters).is_ok());
}

#[test]
fn rates_of_0_change_no_residue_and_rates_of_1_change_every_residue() {
    let letters = b"ACGTNACGTN".repeat(30);
    assert_eq!(
        apply_augmentation(&new_mutation([0.0; 3]), &letters, Key([1, 1])).0,
        letters
    );
    assert_eq!(
        apply_augmentation(&new_mutation([0.0, 1.0, 0.0]), &letters, Key([1, 1])).0,
        b""
    );
    let doubled = apply_augmentation(&new_mutation([0.0, 0.0, 1.0]), &letters, Key([1, 1])).0;
    let originals: Vec<u8> = doubled.iter().copied().step_by(2).collect();
    assert_eq!(originals, letters);
}

#[test]
fn a_substitution_changes_only_residues_of_the_alphabet() {
    let letters = b"ACGTacgtNn-".repeat(40);
    let (changed, _) = apply_augmentation(&new_mutation([1.0, 0.0, 0.0]), &letters, Key([3, 1]));
    for (old, new) in letters.iter().zip(&changed) {
        let is_member = b"ACGTacgt".contains(old);
        assert_eq!(old != new, is_member);
        assert_eq!(old.is_ascii_lowercase(), new.is_ascii_lowercase());
    }
}

#[test]
fn quality_noise_needs_valid_qualities() {
    let noise = QualityNoise::new(33, Replacement::new("dna").unwrap()).unwrap();
    let mut row = AugmentedRow::default();
    row.load(0, b"ACGT", None);
    assert!(noise.apply(&mut row, Key([0, 0])).is_err());
    row.load(0, b"ACGT", Some(b"!!! "));
    assert!(noise.apply(&mut row, Key([0, 0])).is_err());
}

fn dna_sequences() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"ACGTNacgt".to_vec()), 0..120)
}

proptest! {
    #[test]
    fn a_shuffle_preserves_every_k_mer(letters in dna_sequences(), k in 1_usize..5, key: [u32; 2]) {
        let (shuffled, qualities) = apply_augmentation(&new_shuffle(k), &letters, Key(key));
        for width in 1..=k {
            prop_assert_eq!(sorted_words(&letters, width), sorted_words(&shuffled, width));
        }
        let (_, mut positions) = apply_augmentation(&new_shuffle(k), &letters, Key(key));
        positions.sort_unstable();
        let mut whole: Vec<u8> = (33..127).cycle().take(letters.len()).collect();
        whole.sort_unstable();
        prop_assert_eq!(positions, whole);
        for (letter, quality) in shuffled.iter().zip(&qualities).take(94) {
            let origins = letters.iter().skip(usize::from(quality - 33)).step_by(94);
            prop_assert!(origins.into_iter().any(|origin| origin == letter));
        }
    }

    #[test]
    fn two_reverse_complements_give_the_original_sequence(letters in dna_sequences(), key: [u32; 2]) {
        let (once, _) = apply_augmentation(&new_complement(1.0), &letters, Key(key));
        prop_assert_eq!(apply_augmentation(&new_complement(1.0), &once, Key(key)).0, letters);
    }

    #[test]
    fn a_batch_equals_its_sequences_augmented_one_by_one(
        rows in prop::collection::vec(dna_sequences(), 0..20),
        keys in prop::collection::vec(any::<u32>(), 40),
        threads in 1_usize..4,
    ) {
        let letters = rows.concat();
        let mut offsets = vec![0];
        for row in &rows {
            offsets.push(offsets[offsets.len() - 1] + i64::try_from(row.len()).unwrap());
        }
        let (mut data, mut qualities) = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            let mut one = AugmentedRow::default();
            one.load(index, row, Some(row));
            all_augmentations().apply(&mut one, Key([keys[2 * index], keys[2 * index + 1]])).unwrap();
            data.extend(one.letters);
            qualities.extend(one.qualities);
        }
        let ragged = Ragged::new(&letters, &offsets).unwrap();
        let sequences =
            AugmentInput::new(ragged, Some(ragged), &keys[..2 * rows.len()]).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut out = AugmentedBatch::default();
        pool.install(|| all_augmentations().augment_batch(&sequences, &mut out, threads)).unwrap();
        prop_assert_eq!(out.letters, data);
        prop_assert_eq!(out.qualities, qualities);
    }
}
