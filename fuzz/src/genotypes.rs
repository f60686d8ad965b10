//! Reads sets of genotype files with all functions, and compares the results with those
//! of a simple reader.

use std::path::Path;

use seqloom_encode::genotype::Genotype;
use seqloom_load::genotype::codes::CodeRows;
use seqloom_load::genotype::stats::{CODES, CodeCounter};
use seqloom_load::genotype::{GenotypeRequest, Indices, MatrixOrder, read_genotypes};
use seqloom_plink::layout::{HEADER_BYTES, MAGIC_BYTES};
use seqloom_plink::table::{TableKind, TextTable};
use seqloom_plink::{Bed, BedLayout, Major, padding};

use crate::choices::Choices;
use crate::memory::watch;
use crate::scratch;

/// Maximal size of one memory allocation.
const MAX_ALLOCATION_BYTES: usize = 32 << 20;
/// Maximal number of genotypes of a file.
const MAX_GENOTYPES: usize = 1 << 15;
/// Maximal number of selected individuals and variants.
const MAX_PICKS: usize = 1000;

/// Makes the files of a genotype set, opens them, and reads all and selected genotypes.
pub fn run(mut choices: Choices<'_>) {
    let style = choices.byte();
    let [fam, bim] =
        [TableKind::Fam, TableKind::Bim].map(|sheet| make_table(sheet, style, &mut choices));
    let picks = choices.until(0);
    let picks = &picks[..picks.len().min(MAX_PICKS)];
    let (Some(individuals), Some(variants)) =
        (rows(TableKind::Fam, &fam), rows(TableKind::Bim, &bim))
    else {
        return;
    };
    if individuals.saturating_mul(variants) > MAX_GENOTYPES {
        return;
    }
    let major = Major::of(style & 16 > 0);
    let layout = BedLayout {
        major,
        individuals,
        variants,
    };
    let path = scratch::write("set.bed", &content(style, layout, choices.rest()));
    watch(MAX_ALLOCATION_BYTES, || open(&path, layout, picks));
}

/// Returns a table with arbitrary bytes, or a valid table.
fn make_table(sheet: TableKind, style: u8, choices: &mut Choices<'_>) -> Vec<u8> {
    if style & 8 == 0 {
        return choices.until(0).to_vec();
    }
    let line = match sheet {
        TableKind::Fam => "f i 0 0 1 -9\n",
        TableKind::Bim => "1 s 0 1 A C\n",
    };
    line.repeat(choices.below(700)).into_bytes()
}

fn rows(sheet: TableKind, text: &[u8]) -> Option<usize> {
    let table = TextTable::parse(Path::new("fuzz"), sheet, &[], text);
    table.ok().map(|table| table.row_count())
}

/// Returns arbitrary bytes, bytes after a valid header, or a file of the right size.
fn content(style: u8, layout: BedLayout, bytes: &[u8]) -> Vec<u8> {
    if style & 1 > 0 {
        return bytes.to_vec();
    }
    let mode = u8::from(layout.major == Major::Variant);
    let mut content = [&MAGIC_BYTES[..], &[mode], bytes].concat();
    if style & 2 == 0 {
        let lines = content
            .iter()
            .copied()
            .skip(HEADER_BYTES)
            .chain([style])
            .cycle();
        let size = layout.lines() * layout.row_bytes();
        content = content[..HEADER_BYTES]
            .iter()
            .copied()
            .chain(lines.take(size))
            .collect();
    }
    content
}

fn open(path: &Path, wanted: BedLayout, picks: &[u8]) {
    let Ok(bed) = Bed::open(path, picks.len().is_multiple_of(2)) else {
        return;
    };
    let Ok(layout) = bed.layout(wanted.individuals, wanted.variants) else {
        return;
    };
    let bytes = std::fs::read(path).expect("the file was written");
    let slow = SimpleReader {
        bytes: &bytes,
        layout,
    };
    for check in [false, true] {
        slow.compare_all(
            (&bed, check),
            (
                pick_positions(picks, layout.individuals),
                pick_positions(picks, layout.variants),
            ),
        );
        slow.count(&bed, check);
    }
    let _ = (padding::check_padding(&bed, &layout), bed.take_warning());
    slow.compare_codes(bed);
}

/// Selects positions in any order, or all positions if `picks` is empty.
fn pick_positions(picks: &[u8], count: usize) -> Indices {
    if picks.is_empty() || count == 0 {
        return Indices::all_of(count);
    }
    let spread = |(at, pick): (usize, &u8)| (usize::from(*pick) * 5 + at) % count;
    Indices::from_list(picks.iter().enumerate().map(spread).collect())
}

/// A simple reader that decodes genotypes one by one.
struct SimpleReader<'a> {
    bytes: &'a [u8],
    layout: BedLayout,
}

impl SimpleReader<'_> {
    fn code(&self, individual: usize, variant: usize) -> usize {
        let (line, position) = match self.layout.major {
            Major::Variant => (variant, individual),
            Major::Individual => (individual, variant),
        };
        let byte = self.bytes[HEADER_BYTES + line * self.layout.row_bytes() + position / 4];
        usize::from(byte >> (position % 4 * 2) & 3)
    }

    fn compare_all(&self, bed: (&Bed, bool), some: (Indices, Indices)) {
        let all = (
            Indices::all_of(self.layout.individuals),
            Indices::all_of(self.layout.variants),
        );
        let beyond = (
            Indices::from_list(vec![self.layout.individuals, 0]),
            all.1.clone(),
        );
        for order in [MatrixOrder::Variants, MatrixOrder::Individuals] {
            self.compare::<i8>(bed, &all, order);
            self.compare::<f32>(bed, &some, order);
            self.compare::<f64>(bed, &(some.0.clone(), all.1.clone()), order);
            self.compare::<i8>(bed, &(all.0.clone(), some.1.clone()), order);
            let mut out = vec![0_i8; 2 * self.layout.variants];
            let request = self.request::<i8>((bed.0, false), &beyond, order);
            assert!(read_genotypes(request, &mut out).is_err());
        }
    }

    fn request<'a, T: Genotype>(
        &self,
        (bed, check): (&'a Bed, bool),
        (individuals, variants): &(Indices, Indices),
        order: MatrixOrder,
    ) -> GenotypeRequest<'a, T> {
        GenotypeRequest {
            bed,
            layout: self.layout,
            individuals: individuals.clone(),
            variants: variants.clone(),
            table: T::code_table(check),
            order,
            check,
        }
    }

    fn compare<T: Genotype>(
        &self,
        (bed, check): (&Bed, bool),
        picks: &(Indices, Indices),
        order: MatrixOrder,
    ) {
        let (rows, columns) = (positions(&picks.0), positions(&picks.1));
        let mut found = vec![T::MISSING; rows.len() * columns.len()];
        let table = T::code_table(check);
        let outcome = read_genotypes(self.request((bed, check), picks, order), &mut found);
        assert!(outcome.is_ok() || check, "{outcome:?}");
        if outcome.is_err() {
            return;
        }
        for (row, individual) in rows.iter().enumerate() {
            for (column, variant) in columns.iter().enumerate() {
                let at = match order {
                    MatrixOrder::Variants => column * rows.len() + row,
                    MatrixOrder::Individuals => row * columns.len() + column,
                };
                let wanted = table[self.code(*individual, *variant)];
                assert!(are_same(found[at], wanted));
            }
        }
    }

    /// Compares the counts of all genotypes, in two calls.
    fn count(&self, bed: &Bed, check: bool) {
        let BedLayout {
            individuals,
            variants,
            ..
        } = self.layout;
        let groups = (0..individuals).map(|individual| individual % 3).collect();
        let mut survey =
            CodeCounter::new(self.layout, groups, 2).expect("every individual has a group");
        let (mut rows, mut missing) = (vec![0; variants * CODES * 2], vec![0; individuals]);
        let (first, second) = rows.split_at_mut(variants / 2 * CODES * 2);
        let outcome = survey
            .count_next(bed, first, &mut missing, check)
            .and_then(|()| survey.count_next(bed, second, &mut missing, check));
        assert!(outcome.is_ok() || check, "{outcome:?}");
        for (variant, row) in rows
            .chunks(CODES * 2)
            .enumerate()
            .filter(|_| outcome.is_ok())
        {
            let mut wanted = [0_u32; CODES * 2];
            for individual in (0..individuals).filter(|individual| individual % 3 < 2) {
                wanted[individual % 3 * CODES + self.code(individual, variant)] += 1;
            }
            assert_eq!(row, wanted);
        }
    }

    /// Compares the counts and bytes of selected rows.
    fn compare_codes(&self, bed: Bed) {
        let Ok(codes) = CodeRows::from_file(bed, self.layout, None) else {
            return;
        };
        let (lines, stride) = (self.layout.lines(), self.layout.row_bytes());
        let all: Vec<usize> = (0..lines).rev().collect();
        let mut found = vec![0; lines * stride];
        codes.copy_lines(&all, &mut found).expect("all lines exist");
        for (line, found) in all.iter().zip(found.chunks(stride.max(1))) {
            assert!(found == &self.bytes[HEADER_BYTES + line * stride..][..stride]);
        }
        let counts = codes.count_positions(&all).expect("all lines exist");
        let each = codes.count_lines(&all).expect("all lines exist");
        let sum = |counts: &[[u32; 3]]| counts.iter().flatten().sum::<u32>();
        assert_eq!(sum(&counts), sum(&each));
        assert!(codes.copy_lines(&[lines], &mut vec![0; stride]).is_err() || stride == 0);
    }
}

/// Returns true if two values are equal or both NaN.
#[expect(clippy::eq_op, reason = "NaN differs from itself")]
fn are_same<T: Genotype>(found: T, wanted: T) -> bool {
    found == wanted || found != found && wanted != wanted
}

fn positions(picks: &Indices) -> Vec<usize> {
    match picks {
        Indices::Range(range) => range.clone().collect(),
        Indices::Some(positions) => positions.clone(),
    }
}
