use std::fs;
use std::path::PathBuf;

use seqloom_plink::{Bed, BedLayout, Major};

use super::super::codes::CodeRows;
use super::super::progress::Progress;
use super::super::sink::{BedSink, MemorySink};
use super::Relayout;

/// A file with pseudo-random codes.
struct RelayoutExample {
    path: PathBuf,
    layout: BedLayout,
    lines: Vec<u8>,
}

impl RelayoutExample {
    fn new(major: Major, individuals: usize, variants: usize) -> Self {
        let layout = BedLayout {
            major,
            individuals,
            variants,
        };
        let mut lines: Vec<u8> = (0..=250)
            .cycle()
            .take(layout.lines() * layout.row_bytes())
            .collect();
        for line in lines.chunks_mut(layout.row_bytes()) {
            line[layout.row_bytes() - 1] &= !layout.padding_mask();
        }
        let name = format!(
            "seqloom-lay-{}-{major}-{individuals}-{variants}",
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

    /// Returns the expected codes of the copy.
    fn expected(&self, wanted: BedLayout, variants: Option<&[usize]>) -> Vec<u8> {
        let mut lines = vec![0; wanted.lines() * wanted.row_bytes()];
        for line in 0..wanted.lines() {
            for position in 0..wanted.row_genotypes() {
                let (individual, variant) = match wanted.major {
                    Major::Individual => (line, position),
                    Major::Variant => (position, line),
                };
                let variant = variants.map_or(variant, |variants| variants[variant]);
                let at = line * wanted.row_bytes() + position / 4;
                lines[at] |= self.code(individual, variant) << (2 * (position % 4));
            }
        }
        lines
    }

    fn code(&self, individual: usize, variant: usize) -> u8 {
        let (line, position) = match self.layout.major {
            Major::Individual => (individual, variant),
            Major::Variant => (variant, individual),
        };
        self.lines[line * self.layout.row_bytes() + position / 4] >> (2 * (position % 4)) & 3
    }

    fn check(&self, major: Major, variants: Option<&[usize]>, max_bytes: usize) {
        let (bed, progress) = (Bed::open(&self.path, true).unwrap(), Progress::default());
        let relayout = Relayout {
            bed: &bed,
            layout: self.layout,
            major,
            variants,
            max_bytes,
            progress: &progress,
        };
        let wanted = relayout.layout();
        let expected = self.expected(wanted, variants);
        let mut memory = MemorySink::new(&wanted).unwrap();
        relayout.write_copy(&mut memory, true).unwrap();
        assert!(memory.into_lines() == expected, "{wanted} in memory");
        self.check_written(&relayout, &expected);
    }

    fn check_written(&self, relayout: &Relayout<'_>, expected: &[u8]) {
        let path = self.path.with_extension("copy");
        let mut file = BedSink::create(&path, relayout.layout()).unwrap();
        relayout.write_copy(&mut file, true).unwrap();
        let sums = file.sync_to_disk().unwrap();
        assert!(fs::read(&path).unwrap()[3..] == *expected);
        let copy = Bed::open(&path, true).unwrap();
        let codes = CodeRows::from_file(copy, relayout.layout(), Some(sums)).unwrap();
        let lines: Vec<usize> = (0..relayout.layout().lines()).rev().collect();
        let mut found = vec![0; expected.len()];
        codes.copy_lines(&lines, &mut found).unwrap();
        let stride = relayout.layout().row_bytes();
        assert!(found.chunks(stride).rev().eq(expected.chunks(stride)));
        fs::remove_file(path).unwrap();
    }
}

impl Drop for RelayoutExample {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[test]
fn a_copy_is_by_individual_or_by_variant() {
    let picked = [4, 0, 4, 2];
    for major in [Major::Individual, Major::Variant] {
        for (individuals, variants) in [(1, 5), (6, 5), (9, 8), (70, 261)] {
            let example = RelayoutExample::new(major, individuals, variants);
            example.check(Major::Individual, None, 0);
            example.check(Major::Individual, Some(&picked), 0);
            example.check(Major::Variant, None, 0);
        }
    }
}

#[test]
fn a_matrix_of_several_tiles_is_transposed() {
    let example = RelayoutExample::new(Major::Variant, 601, 33_001);
    example.check(Major::Individual, None, 0);
    example.check(Major::Individual, None, 4 << 20);
}

#[test]
fn a_changed_row_is_an_error() {
    let example = RelayoutExample::new(Major::Individual, 6, 9);
    let bed = Bed::open(&example.path, true).unwrap();
    let codes = CodeRows::from_file(bed, example.layout, Some(vec![0; 6])).unwrap();
    let error = codes.copy_lines(&[0], &mut [0; 3]).unwrap_err().to_string();
    assert!(error.contains("row 0 is not what was written"), "{error}");
}

#[test]
fn a_cancelled_copy_is_an_error() {
    let example = RelayoutExample::new(Major::Variant, 8, 300);
    let (bed, progress) = (Bed::open(&example.path, true).unwrap(), Progress::default());
    progress.cancel();
    let relayout = Relayout {
        bed: &bed,
        layout: example.layout,
        major: Major::Individual,
        variants: None,
        max_bytes: 0,
        progress: &progress,
    };
    let mut memory = MemorySink::new(&relayout.layout()).unwrap();
    assert!(relayout.write_copy(&mut memory, false).is_err());
}
