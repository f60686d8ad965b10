use std::fs;
use std::path::PathBuf;

use seqloom_plink::{Bed, BedLayout, Major};

use super::super::Indices;
use super::super::source::MemorySource;
use super::{GenotypeRequest, MatrixOrder, decode_memory, read_genotypes};
use seqloom_encode::genotype::Genotype;

/// A file with pseudo-random codes, and its bytes.
struct ReadExample {
    path: PathBuf,
    layout: BedLayout,
    lines: Vec<u8>,
}

impl ReadExample {
    fn new(major: Major, individuals: usize, variants: usize) -> Self {
        let layout = BedLayout {
            major,
            individuals,
            variants,
        };
        let mut lines = Vec::new();
        for line in 0..layout.lines() {
            for byte in 0..layout.row_bytes() {
                let random = (line * 7919 + byte * 104_729 + 13) * 2_654_435_761;
                let last = byte + 1 == layout.row_bytes();
                let kept = if last { !layout.padding_mask() } else { 255 };
                lines.push(random.to_le_bytes()[2] & kept);
            }
        }
        let name = format!(
            "seqloom-read-{}-{major}-{individuals}-{variants}.bed",
            std::process::id()
        );
        let path = std::env::temp_dir().join(name);
        let header = [0x6c, 0x1b, u8::from(major == Major::Variant)];
        fs::write(&path, [&header[..], &lines].concat()).unwrap();
        Self {
            path,
            layout,
            lines,
        }
    }

    fn code(&self, individual: usize, variant: usize) -> usize {
        let (line, position) = match self.layout.major {
            Major::Variant => (variant, individual),
            Major::Individual => (individual, variant),
        };
        let byte = self.lines[line * self.layout.row_bytes() + position / 4];
        usize::from(byte >> (2 * (position % 4)) & 3)
    }

    fn check<T: Genotype + std::fmt::Debug + Default + From<i8>>(
        &self,
        picks: &(Indices, Indices),
    ) {
        let bed = Bed::open(&self.path, true).unwrap();
        let table = [2, -127, 1, 0].map(T::from);
        let (rows, columns) = (list(&picks.0), list(&picks.1));
        for order in [MatrixOrder::Variants, MatrixOrder::Individuals] {
            let mut out = vec![T::default(); rows.len() * columns.len()];
            let request = GenotypeRequest {
                bed: &bed,
                layout: self.layout,
                individuals: picks.0.clone(),
                variants: picks.1.clone(),
                table,
                order,
                check: true,
            };
            read_genotypes(request, &mut out).unwrap();
            for (i, &individual) in rows.iter().enumerate() {
                for (j, &variant) in columns.iter().enumerate() {
                    let at = match order {
                        MatrixOrder::Variants => j * rows.len() + i,
                        MatrixOrder::Individuals => i * columns.len() + j,
                    };
                    let expected = table[self.code(individual, variant)];
                    assert_eq!(out[at], expected, "{individual}, {variant}, {order:?}");
                }
            }
        }
    }
}

impl Drop for ReadExample {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn list(picks: &Indices) -> Vec<usize> {
    match picks {
        Indices::Range(range) => range.clone().collect(),
        Indices::Some(positions) => positions.clone(),
    }
}

fn picks(count: usize, of: usize) -> Indices {
    Indices::from_list((0..count).map(|i| (i * 7919 + 3) % of).collect())
}

#[test]
fn all_selections_layouts_and_orders_return_the_codes_of_the_file() {
    for major in [Major::Variant, Major::Individual] {
        for (individuals, variants) in [(1, 1), (5, 130), (67, 70), (130, 3)] {
            let example = ReadExample::new(major, individuals, variants);
            for rows in [
                Indices::all_of(individuals),
                Indices::Range(individuals / 2..individuals),
                picks(9, individuals),
            ] {
                for columns in [
                    Indices::all_of(variants),
                    Indices::Range(variants / 3..variants),
                    picks(7, variants),
                    Indices::Range(0..0),
                ] {
                    let picks = (rows.clone(), columns);
                    example.check::<i8>(&picks);
                    example.check::<f64>(&picks);
                }
            }
        }
    }
}

#[test]
fn results_larger_than_the_caches_are_correct() {
    let example = ReadExample::new(Major::Variant, 3001, 1503);
    for rows in [
        Indices::all_of(3001),
        Indices::Range(2..2990),
        picks(2000, 3001),
    ] {
        example.check::<i8>(&(rows, Indices::all_of(1503)));
    }
}

#[test]
fn a_few_positions_of_long_rows_are_correct() {
    let example = ReadExample::new(Major::Variant, 40_000, 9);
    for rows in [
        Indices::Range(20_001..20_006),
        picks(3, 4),
        Indices::from_list(vec![39_999, 39_990]),
    ] {
        example.check::<i8>(&(rows, Indices::all_of(9)));
    }
}

#[test]
fn rows_in_memory_decode_like_those_of_the_file() {
    let example = ReadExample::new(Major::Variant, 70, 66);
    let source = MemorySource {
        lines: &example.lines,
        stride: example.layout.row_bytes(),
    };
    for along in [true, false] {
        let mut out = vec![0_i8; 70 * 66];
        decode_memory(source, Indices::all_of(70), [0, 1, 2, 3], along, &mut out).unwrap();
        for individual in 0..70 {
            for variant in 0..66 {
                let at = if along {
                    variant * 70 + individual
                } else {
                    individual * 66 + variant
                };
                let code = example.code(individual, variant);
                assert_eq!(usize::from(out[at].cast_unsigned()), code);
            }
        }
    }
}

#[test]
fn a_position_out_of_bounds_is_an_error() {
    let example = ReadExample::new(Major::Variant, 5, 6);
    let bed = Bed::open(&example.path, true).unwrap();
    let request = GenotypeRequest {
        bed: &bed,
        layout: example.layout,
        individuals: Indices::from_list(vec![5]),
        variants: Indices::all_of(6),
        table: i8::code_table(true),
        order: MatrixOrder::Variants,
        check: true,
    };
    let error = read_genotypes(request, &mut [0; 6])
        .unwrap_err()
        .to_string();
    assert!(error.contains("5 is out of bounds"));
}
