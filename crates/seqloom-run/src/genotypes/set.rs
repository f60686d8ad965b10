//! A `.bed` file with its tables of variants and samples.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use seqloom_compression::{ReadError, input::BufferedInput, open_text};
use seqloom_core::{Error, Result};
use seqloom_plink::table::{TableKind, TextTable};
use seqloom_plink::{Bed, BedLayout};

use super::matching::Variants;

/// A PLINK file set: `.bed`, `.bim` and `.fam`.
pub(super) struct PlinkFiles {
    pub(super) bed: Bed,
    pub(super) layout: BedLayout,
    people: TextTable<Vec<u8>>,
    variants: TextTable<Vec<u8>>,
}

impl PlinkFiles {
    /// Opens a `.bed` file and reads its tables, which may be compressed.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let bed = Bed::open(path, true)?;
        let people = read_table(path, TableKind::Fam, &["fid", "iid"])?;
        let variants = read_table(path, TableKind::Bim, &["sid", "allele_1", "allele_2"])?;
        let layout = bed.layout(people.row_count(), variants.row_count())?;
        Ok(Self {
            bed,
            layout,
            people,
            variants,
        })
    }

    /// Returns the ids and alleles of the variants. `counts_a1` selects which allele is
    /// counted.
    pub(super) fn variants(&self, counts_a1: bool) -> Result<Variants> {
        let (counted, other) = if counts_a1 {
            ("allele_1", "allele_2")
        } else {
            ("allele_2", "allele_1")
        };
        Ok(Variants {
            ids: column(&self.variants, "sid")?,
            counted: column(&self.variants, counted)?,
            other: column(&self.variants, other)?,
        })
    }

    /// Returns the sample ids, in the form `FID:IID` if the ids alone are not unique.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let own = column(&self.people, "iid")?;
        let different: HashSet<&str> = own.iter().map(String::as_str).collect();
        if different.len() == own.len() {
            return Ok(own);
        }
        let families = column(&self.people, "fid")?;
        let pairs = families.iter().zip(&own);
        Ok(pairs
            .map(|(family, own)| format!("{family}:{own}"))
            .collect())
    }
}

fn column(table: &TextTable<Vec<u8>>, name: &str) -> Result<Vec<String>> {
    let fields = table.fields(name, 0..table.row_count())?;
    Ok(fields.map(str::to_owned).collect())
}

/// Reads a table whose file name has the same stem as the `.bed` file.
fn read_table(bed: &Path, sheet: TableKind, names: &[&str]) -> Result<TextTable<Vec<u8>>> {
    let path = find_table(bed, sheet);
    let wanted: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let text = read_text(&path).map_err(|error| match error {
        ReadError::Io(error) => Error::io(&path, &error),
        ReadError::Damage(fault) => Error::format(&path, fault),
    })?;
    TextTable::parse(&path, sheet, &wanted, text)
}

/// Returns the path of a table. If only the compressed file exists, the path ends in
/// `.gz`.
fn find_table(bed: &Path, sheet: TableKind) -> PathBuf {
    let (plain, packed) = match sheet {
        TableKind::Fam => ("fam", "fam.gz"),
        TableKind::Bim => ("bim", "bim.gz"),
    };
    let gzipped = bed.with_extension(packed);
    let table = bed.with_extension(plain);
    if !table.exists() && gzipped.exists() {
        return gzipped;
    }
    table
}

fn read_text(path: &Path) -> std::result::Result<Vec<u8>, ReadError> {
    let options = seqloom_compression::UnpackOptions::default();
    let (_, mut text) = open_text(BufferedInput::open(path)?, &options)?;
    let mut bytes = Vec::new();
    loop {
        let piece = text.fill_buffer()?;
        let count = piece.len();
        if count == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(piece);
        text.consume(count);
    }
}
