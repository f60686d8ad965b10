//! The columns of samples: genotypes and FORMAT fields.

use memchr::memchr;
use seqloom_core::error::{Error, Fault, Result};

use crate::columns::VariantColumns;
use crate::fields::{Field, FieldColumn};
use crate::genotypes::parse_genotype;
use crate::header::Header;
use crate::report::VariantReport;
use crate::vcf::value_fault;

/// The samples whose genotypes are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SampleChoice {
    /// No samples; genotypes are not parsed.
    #[default]
    None,
    /// All samples of the file.
    All,
    /// The samples with these names, in this order.
    Names(Vec<String>),
}

/// Finds the indices of the chosen samples.
pub(crate) fn choose_samples(
    choice: &SampleChoice,
    header: &Header,
) -> Result<Option<SampleReader>> {
    let count = header.samples.len();
    let selected = match choice {
        SampleChoice::None => return Ok(None),
        SampleChoice::All => (0..count).collect(),
        SampleChoice::Names(names) => names
            .iter()
            .map(|name| find_sample(name, header))
            .collect::<Result<_>>()?,
    };
    Ok(Some(SampleReader::new(count, selected)))
}

fn find_sample(name: &str, header: &Header) -> Result<usize> {
    let mut matches = header.samples.iter().enumerate();
    let mut matches = matches
        .by_ref()
        .filter(|(_, sample)| *sample == name.as_bytes());
    match (matches.next(), matches.next()) {
        (Some((number, _)), None) => Ok(number),
        (None, _) => Err(Error::argument(format!(
            "samples: the file has no sample {name:?}; it has {} samples",
            header.samples.len()
        ))),
        (Some(_), Some(_)) => Err(Error::argument(format!(
            "samples: the header has {name:?} more than once; pass samples=True"
        ))),
    }
}

/// A column of the batch to which a value of a sample is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Skip,
    Genotype,
    /// The number of a requested field.
    Field(usize),
}

/// Reads the columns of samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleReader {
    /// The number of samples of the file.
    pub(crate) count: usize,
    /// The indices of the samples to read.
    pub(crate) selected: Vec<usize>,
    /// The last FORMAT column, and the column for each of its values.
    format: Vec<u8>,
    targets: Vec<Target>,
    /// The requested fields that the FORMAT column lacks.
    lacking: Vec<usize>,
    has_genotype: bool,
    /// The range of each sample in the text.
    ranges: Vec<(usize, usize)>,
    cells: Vec<[u8; 4]>,
    pub(crate) alleles: Vec<i16>,
}

impl SampleReader {
    pub(crate) fn new(count: usize, selected: Vec<usize>) -> Self {
        Self {
            count,
            selected,
            ..Self::default()
        }
    }

    /// Appends the genotypes and fields of a record; `text` begins with FORMAT.
    #[inline]
    pub(crate) fn push_samples(
        &mut self,
        (text, alternatives, line): (&[u8], usize, u64),
        fields: &[Field],
        (columns, report): (&mut VariantColumns, &mut VariantReport),
    ) -> std::result::Result<(), Fault> {
        let size = memchr(b'\t', text).unwrap_or(text.len());
        let (format, samples) = text.split_at(size);
        let samples = samples.strip_prefix(b"\t").unwrap_or_default();
        if format != self.format || self.targets.is_empty() {
            self.find_targets(format, fields);
        }
        for target in &self.targets {
            if let Target::Field(number) = target
                && let Some(field) = fields.get(*number)
            {
                field.check_declared(line, report);
            }
        }
        let is_short = self.targets == [Target::Genotype] && self.lacking.is_empty();
        if is_short && self.push_short(samples, columns) {
            return Ok(());
        }
        self.find_ranges(samples)?;
        for at in 0..self.selected.len() {
            let number = self.selected.get(at).copied().unwrap_or_default();
            let range = self.ranges.get(number).copied().unwrap_or_default();
            let sample = samples.get(range.0..range.1).unwrap_or_default();
            self.push_sample((sample, alternatives, line), fields, (columns, report))
                .map_err(|fault| Fault {
                    message: format!("sample {}: {}", number + 1, fault.message),
                    ..fault
                })?;
        }
        Ok(())
    }

    #[cold]
    fn find_targets(&mut self, format: &[u8], fields: &[Field]) {
        self.format = format.to_vec();
        self.targets.clear();
        let mut lacking: Vec<usize> = (0..fields.len()).collect();
        lacking.retain(|at| fields.get(*at).is_some_and(|field| field.is_format));
        self.has_genotype = false;
        for name in format.split(|byte| *byte == b':') {
            let field = lacking
                .iter()
                .position(|at| fields.get(*at).is_some_and(|field| field.name == name));
            let target = match field {
                _ if name == b"GT" && !self.has_genotype => {
                    self.has_genotype = true;
                    Target::Genotype
                }
                Some(at) => Target::Field(lacking.remove(at)),
                None => Target::Skip,
            };
            self.targets.push(target);
        }
        let last = self.targets.iter().rposition(|it| *it != Target::Skip);
        self.targets.truncate(last.map_or(1, |last| last + 1));
        self.lacking = lacking;
    }

    /// Appends genotypes of one digit each. Returns false if there are others.
    fn push_short(&mut self, samples: &[u8], columns: &mut VariantColumns) -> bool {
        if self.count == 0 || samples.len() != 4 * self.count - 1 {
            return false;
        }
        let (cells, last) = samples.as_chunks::<4>();
        let [first, separator, second] = last else {
            return false;
        };
        let last = [*first, *separator, *second, b'\t'];
        if !cells.iter().all(|cell| cell.ends_with(b"\t")) {
            return false;
        }
        self.cells.clear();
        if self.selected.len() == self.count && self.selected.is_sorted() {
            self.cells.extend_from_slice(cells);
            self.cells.push(last);
        } else {
            let cell = |number: &usize| cells.get(*number).copied().unwrap_or(last);
            self.cells.extend(self.selected.iter().map(cell));
        }
        columns.genotypes.push_short(&self.cells)
    }

    fn find_ranges(&mut self, samples: &[u8]) -> std::result::Result<(), Fault> {
        self.ranges.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\t', samples) {
            self.ranges.push((start, end));
            start = end + 1;
        }
        if !samples.is_empty() {
            self.ranges.push((start, samples.len()));
        }
        if self.ranges.len() == self.count {
            return Ok(());
        }
        Err(Fault::of_file(format!(
            "expected {} columns of samples, as in the header, found {}",
            self.count,
            self.ranges.len()
        )))
    }

    #[inline]
    fn push_sample(
        &mut self,
        (sample, alternatives, line): (&[u8], usize, u64),
        fields: &[Field],
        (columns, report): (&mut VariantColumns, &mut VariantReport),
    ) -> std::result::Result<(), Fault> {
        let mut parts = sample.split(|byte| *byte == b':');
        let VariantColumns {
            genotypes,
            fields: field_columns,
            ..
        } = columns;
        for target in &self.targets {
            let part = parts.next().unwrap_or(b".");
            match target {
                Target::Skip => {}
                Target::Genotype => {
                    let Some(is_phased) = parse_genotype(part, &mut self.alleles) else {
                        return Err(value_fault("GT", "a genotype such as 0/1", part));
                    };
                    genotypes.push(&self.alleles, is_phased);
                }
                Target::Field(number) => {
                    let pair = fields.get(*number).zip(field_columns.get_mut(*number));
                    let Some((field, column)) = pair else {
                        continue;
                    };
                    if let Some(count) = column.push_text(part, field)? {
                        field.check_count(count, alternatives, (line, report));
                    }
                }
            }
        }
        if !self.has_genotype {
            genotypes.push_missing();
        }
        for number in &self.lacking {
            if let Some(column) = field_columns.get_mut(*number) {
                FieldColumn::push_missing(column);
            }
        }
        Ok(())
    }
}
