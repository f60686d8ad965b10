//! The columns of a batch of variants.

use crate::fields::{Field, FieldColumn};
use crate::genotypes::Genotypes;

/// Byte strings in one buffer; row `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct BytesColumn {
    /// The bytes of all rows.
    pub data: Vec<u8>,
    /// The offset of each row, and the number of bytes.
    pub offsets: Vec<i64>,
}

impl BytesColumn {
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.data.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: &[u8]) {
        self.data.extend_from_slice(row);
        self.end_row();
    }

    /// Ends a row whose bytes were appended to `data`.
    #[inline]
    pub fn end_row(&mut self) {
        self.offsets
            .push(i64::try_from(self.data.len()).unwrap_or(i64::MAX));
    }

    /// Removes all rows from number `rows`.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        let size = self.offsets.last().copied().unwrap_or_default();
        self.data
            .truncate(usize::try_from(size).unwrap_or_default());
    }

    /// Iterates over the rows.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let bounds = self.offsets.iter().zip(self.offsets.iter().skip(1));
        bounds.map(|(start, stop)| {
            let index = |offset: &i64| usize::try_from(*offset).unwrap_or(usize::MAX);
            self.data.get(index(start)..index(stop)).unwrap_or_default()
        })
    }
}

/// The columns of a batch of variants; all columns have one row per record.
#[derive(Clone, Debug, Default)]
pub struct VariantColumns {
    /// The index of the chromosome in the table of names.
    pub chroms: Vec<i32>,
    /// The zero-based position of the first base of the reference allele.
    pub starts: Vec<i64>,
    /// The ids as in the file.
    pub ids: BytesColumn,
    /// The reference alleles.
    pub refs: BytesColumn,
    /// The alternative alleles, separated by commas.
    pub alts: BytesColumn,
    /// The qualities; NaN if missing.
    pub qualities: Vec<f32>,
    /// The filters as in the file.
    pub filters: BytesColumn,
    /// The line of each record; in BCF, its number.
    pub lines: Vec<i64>,
    /// The columns of the requested fields.
    pub fields: Vec<FieldColumn>,
    /// The genotypes of the requested samples.
    pub genotypes: Genotypes,
}

impl VariantColumns {
    /// Removes all records, and prepares columns for the fields.
    pub(crate) fn clear(&mut self, fields: &[Field]) {
        self.fields
            .resize_with(fields.len(), || FieldColumn::Flags(Vec::new()));
        for (column, field) in self.fields.iter_mut().zip(fields) {
            *column = FieldColumn::new(field.kind);
            column.clear();
        }
        self.genotypes.clear();
        self.chroms.clear();
        self.starts.clear();
        self.qualities.clear();
        self.lines.clear();
        for column in [
            &mut self.ids,
            &mut self.refs,
            &mut self.alts,
            &mut self.filters,
        ] {
            column.clear();
        }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.chroms.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.chroms.is_empty()
    }

    /// Removes the fields and genotypes of an incomplete record.
    pub(crate) fn cancel_record(&mut self, fields: &[Field], samples: usize) {
        let rows = self.len();
        for (column, field) in self.fields.iter_mut().zip(fields) {
            column.truncate(if field.is_format {
                rows * samples
            } else {
                rows
            });
        }
        self.genotypes.truncate(rows * samples);
    }

    /// The number of bytes of the columns whose size differs between files.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.ids, &self.refs, &self.alts, &self.filters];
        let fixed: usize = texts.iter().map(|column| column.data.len()).sum();
        let fields: usize = self.fields.iter().map(FieldColumn::bytes).sum();
        fixed + fields + self.genotypes.bytes()
    }
}
