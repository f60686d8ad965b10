//! Tests that rayon's global thread pool is not created, because it does not work in a
//! forked process.

use seqloom_core::Ragged;
use seqloom_encode::augment::{AugmentInput, Augmentation, AugmentedBatch};
use seqloom_encode::{LetterTable, OneHot, Policy, RowLayout, encode};

const SEQUENCE_BYTES: usize = 1 << 20;

#[test]
fn encoding_and_augmenting_outside_a_pool_do_not_create_the_global_pool() {
    let data = vec![b'A'; SEQUENCE_BYTES];
    let sequences = Ragged::new(&data, &[0, 1 << 19, 1 << 20]).unwrap();
    let letters = LetterTable::new("dna", Policy::default()).unwrap();
    let kernel = OneHot::new(&letters, vec![0_u32; 256 * 4], true).unwrap();
    let mut out = vec![0; 4 * SEQUENCE_BYTES];
    encode((&letters, &kernel), &sequences, &mut out, RowLayout::Equal).unwrap();

    let mut changed = AugmentedBatch::default();
    let each = AugmentInput::new(sequences, None, &[0; 4]).unwrap();
    Augmentation::Compose(Vec::new())
        .augment_batch(&each, &mut changed, 4)
        .unwrap();
    assert_eq!(changed.letters, data);
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
