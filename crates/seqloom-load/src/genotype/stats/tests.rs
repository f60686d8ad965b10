use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;

use super::*;

/// Writes a `.bed` of random codes. Returns the path of the file, and the codes of each
/// variant.
fn write(name: &str, layout: &BedLayout, seed: u64) -> (PathBuf, Vec<Vec<u8>>) {
    let mut state = seed | 1;
    let mut code = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        (state >> 60) as u8 % 4
    };
    let lines: Vec<Vec<u8>> = (0..layout.lines())
        .map(|_| (0..layout.row_genotypes()).map(|_| code()).collect())
        .collect();
    let pack = |four: &[u8]| four.iter().rev().fold(0, |byte, code| byte << 2 | code);
    let mode = u8::from(layout.major == Major::Variant);
    let mut bytes = vec![0x6c, 0x1b, mode];
    bytes.extend(lines.iter().flat_map(|line| line.chunks(4).map(pack)));
    let folder = std::env::temp_dir().join(format!("seqloom-stats-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    let transposed = (0..layout.variants).map(|at| lines.iter().map(|line| line[at]).collect());
    let codes = if mode == 1 {
        lines.clone()
    } else {
        transposed.collect()
    };
    (path, codes)
}

/// Returns the genotype counts of a pass that counts `step` variants in each call.
fn survey(bed: &Bed, layout: BedLayout, group_of: &[usize], step: usize) -> (Vec<u32>, Vec<u32>) {
    let mut pass = CodeCounter::new(layout, group_of.to_vec(), 2).unwrap();
    let mut rows = vec![9; layout.variants * 2 * CODES];
    let mut missing = vec![0; layout.individuals];
    for rows in rows.chunks_mut(step * 2 * CODES) {
        pass.count_next(bed, rows, &mut missing, false).unwrap();
    }
    (rows, missing)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_pass_counts_the_codes_of_the_file(
        individuals in 0_usize..600, variants in 0_usize..40, step in 1_usize..50,
        by_variant: bool, in_pool: bool, seed: u64,
    ) {
        let major = if by_variant { Major::Variant } else { Major::Individual };
        let layout = BedLayout { major, individuals, variants };
        let (path, codes) = write("pass.bed", &layout, seed);
        let group_of: Vec<usize> = (0..individuals).map(|at| at * at % 3).collect();
        let bed = Bed::open(&path, true).unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let run = || survey(&bed, layout, &group_of, step);
        let (rows, missing) = if in_pool { pool.install(run) } else { run() };
        for (row, codes) in rows.chunks(2 * CODES).zip(&codes) {
            let mut wanted = [0; 3 * CODES];
            for (code, group) in codes.iter().zip(&group_of) {
                wanted[group * CODES + usize::from(*code)] += 1;
            }
            prop_assert_eq!(row, &wanted[..2 * CODES]);
        }
        for (at, found) in missing.iter().enumerate() {
            prop_assert_eq!(*found as usize, codes.iter().filter(|line| line[at] == 1).count());
        }
    }
}

#[test]
fn a_file_that_is_truncated_during_a_pass_is_an_error_in_every_thread() {
    let layout = BedLayout {
        major: Major::Variant,
        individuals: 4000,
        variants: 3000,
    };
    let (path, _) = write("cut.bed", &layout, 7);
    let bed = Bed::open(&path, true).unwrap();
    let mut pass = CodeCounter::new(layout, vec![0; 4000], 1).unwrap();
    let (mut rows, mut missing) = (vec![0; 3000 * CODES], vec![0; 4000]);
    let (first, rest) = rows.split_at_mut(1000 * CODES);
    pass.count_next(&bed, first, &mut missing, true).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(2_500_000).unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let error = pool.install(|| pass.count_next(&bed, rest, &mut missing, true));
    assert!(error.unwrap_err().to_string().contains("found 2500000"));
}

#[test]
fn suspicious_last_positions_are_an_error_in_files_with_many_lines() {
    for major in [Major::Variant, Major::Individual] {
        let layout = BedLayout {
            major,
            individuals: 2,
            variants: 100,
        };
        let (lines, positions) = if major == Major::Variant {
            (100, 2)
        } else {
            (2, 100)
        };
        let path = write("tail.bed", &layout, 5).0;
        let mut bytes = fs::read(&path).unwrap();
        let stride = usize::div_ceil(positions, 4);
        (1..=lines).for_each(|line| bytes[2 + line * stride] &= 0b11);
        fs::write(&path, bytes).unwrap();
        let bed = Bed::open(&path, true).unwrap();
        let mut pass = CodeCounter::new(layout, vec![0; 2], 1).unwrap();
        let found = pass.count_next(&bed, &mut [0; 100 * CODES], &mut [0; 2], true);
        assert!(found.is_ok(), "{found:?}");
        assert_eq!(bed.take_warning().is_some(), major == Major::Variant);
    }
}

#[test]
fn every_individual_needs_a_group() {
    let layout = BedLayout {
        major: Major::Variant,
        individuals: 3,
        variants: 1,
    };
    assert!(CodeCounter::new(layout, vec![0; 2], 1).is_err());
}
