//! Reading of VCF and BCF files, batch by batch.

use std::{ffi::OsString, path::PathBuf};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use seqloom_compression::input::BufferedInput;
use seqloom_core::{BufferPool, Error, Ragged};
use seqloom_macros::python_export;
use seqloom_variants::{
    BytesColumn, FieldColumn, Genotypes, InfoLine, SampleChoice, VariantColumns, VariantReader,
    VariantReaderOptions, VariantWriter,
};

use super::source::{PythonFailure, PythonReader};
use crate::{error, pool, pooled};

/// A column of text: the bytes of all rows, and their offsets.
type TextArrays<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// The values of a field; the offsets of text, or `None`; the number of values of a row, or
/// 0 for text and flags.
type FieldArrays<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyArray1<i64>>>, usize);

/// The alleles of all genotypes, the number of alleles of a genotype, and whether each
/// genotype is phased.
type GenotypeArrays<'py> = (Bound<'py, PyAny>, usize, Bound<'py, PyAny>);

/// A batch: numbers of chromosomes, starts, qualities and lines; then ids, reference
/// alleles, alternative alleles and filters; then the fields, and the genotypes.
type VariantArrays<'py> = (
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<i64>>,
    Vec<TextArrays<'py>>,
    Vec<FieldArrays<'py>>,
    GenotypeArrays<'py>,
);

/// The number of records, and each kind of broken rule with its count, first line and
/// first text.
type ReportTuple = (u64, Vec<(String, u64, u64, String)>);

/// Reads a VCF or BCF file; format and compression are detected from the content.
#[python_export]
pub(crate) struct VariantFile {
    /// The reader, or `None` after it is closed.
    reader: Option<VariantReader>,
    failure: PythonFailure,
    buffers: VariantBuffers,
}

#[python_export]
impl VariantFile {
    /// Opens `path`, or reads the binary file object `file`; error messages name `path`
    /// in both cases. `samples` are names; None reads no samples unless `all_samples` is
    /// true. If `regions` is empty, the whole file is read.
    #[new]
    #[pyo3(signature = (path, file=None, *, regions, samples, all_samples, fields, threads))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        file: Option<Bound<'_, PyAny>>,
        regions: Vec<String>,
        samples: Option<Vec<String>>,
        all_samples: bool,
        fields: Vec<String>,
        threads: usize,
    ) -> PyResult<Self> {
        let none = if all_samples {
            SampleChoice::All
        } else {
            SampleChoice::None
        };
        let options = VariantReaderOptions {
            threads,
            samples: samples.map_or(none, SampleChoice::Names),
            fields,
            regions,
        };
        let failure = PythonFailure::default();
        let source = match file {
            Some(object) => Some(PythonReader::new(&object, &failure)?),
            None => None,
        };
        let opened = pool::run(py, 1, || match source {
            Some(source) => {
                VariantReader::new(&path, BufferedInput::new(Box::new(source)), &options)
            }
            None => VariantReader::open(&path, &options),
        });
        let reader = opened.map_err(|error| failure.take().unwrap_or(error))?;
        Ok(Self {
            reader: Some(reader),
            failure,
            buffers: VariantBuffers::default(),
        })
    }

    /// The text of the header.
    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<String> {
        Ok(to_text(&self.open_reader(py)?.header().text))
    }

    /// The names and lengths of the sequences that the header declares.
    #[getter]
    fn contigs(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<i64>)>> {
        let contigs = &self.open_reader(py)?.header().contigs;
        let pairs = contigs.iter().map(|it| (to_text(&it.name), it.length));
        Ok(pairs.collect())
    }

    /// The names of the samples that are read.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let reader = self.open_reader(py)?;
        let selected = reader.selected_samples().unwrap_or_default().iter();
        let names = selected.filter_map(|number| reader.header().samples.get(*number));
        Ok(names.map(|name| to_text(name)).collect())
    }

    /// Returns the names of chromosomes from number `start`.
    fn chrom_names(&self, py: Python<'_>, start: usize) -> PyResult<Vec<String>> {
        let names = self.open_reader(py)?.chrom_names().iter().skip(start);
        Ok(names.map(|name| to_text(name)).collect())
    }

    /// Returns the number of records that were read, and the broken rules that were
    /// counted.
    fn report(&self, py: Python<'_>) -> PyResult<ReportTuple> {
        let reader = self.open_reader(py)?;
        let oddities = reader.report().oddities.iter();
        let rows = oddities.map(|it| (it.kind.to_owned(), it.count, it.line, it.example.clone()));
        Ok((reader.records(), rows.collect()))
    }

    /// Reads the next records, at most `max_records` with about `max_bytes` bytes. Returns
    /// None at the end. The memory of released arrays is reused.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        max_records: usize,
        max_bytes: usize,
    ) -> PyResult<Option<VariantArrays<'py>>> {
        let Some(reader) = &mut self.reader else {
            return Err(closed_error(py));
        };
        let buffers = &self.buffers;
        let read = pool::run(py, 1, || {
            let mut columns = buffers.take_columns();
            let is_more = reader.refill_batch(&mut columns, max_records, max_bytes)?;
            Ok(is_more.then_some(columns))
        });
        let columns = read.map_err(|error| self.failure.take().unwrap_or(error))?;
        columns
            .map(|columns| self.buffers.to_arrays(py, columns))
            .transpose()
    }

    /// Closes the file.
    fn close(&mut self, py: Python<'_>) {
        // The thread that reads ahead may wait for the GIL before it ends.
        let reader = self.reader.take();
        py.detach(|| drop(reader));
    }
}

impl VariantFile {
    fn open_reader(&self, py: Python<'_>) -> PyResult<&VariantReader> {
        self.reader.as_ref().ok_or_else(|| closed_error(py))
    }
}

impl Drop for VariantFile {
    fn drop(&mut self) {
        let reader = self.reader.take();
        Python::try_attach(|py| py.detach(move || drop(reader)));
    }
}

fn closed_error(py: Python<'_>) -> PyErr {
    error::exception_for(py, &Error::argument("the reader is closed"))
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The columns of a batch, in reused memory.
#[derive(Default)]
struct VariantBuffers {
    bytes: BufferPool<u8>,
    integers: BufferPool<i64>,
    chroms: BufferPool<i32>,
    floats: BufferPool<f32>,
    alleles: BufferPool<i8>,
    phased: BufferPool<bool>,
}

impl VariantBuffers {
    fn take_columns(&self) -> VariantColumns {
        VariantColumns {
            chroms: self.chroms.take(),
            starts: self.integers.take(),
            ids: self.take_text(),
            refs: self.take_text(),
            alts: self.take_text(),
            qualities: self.floats.take(),
            filters: self.take_text(),
            lines: self.integers.take(),
            fields: Vec::new(),
            genotypes: Genotypes {
                narrow: self.alleles.take(),
                phased: self.phased.take(),
                ..Genotypes::default()
            },
        }
    }

    fn take_text(&self) -> BytesColumn {
        BytesColumn {
            data: self.bytes.take(),
            offsets: self.integers.take(),
        }
    }

    fn to_arrays<'py>(
        &self,
        py: Python<'py>,
        columns: VariantColumns,
    ) -> PyResult<VariantArrays<'py>> {
        let texts = [columns.ids, columns.refs, columns.alts, columns.filters];
        let texts = texts.into_iter().map(|column| {
            Ok((
                pooled::array(py, column.data, &self.bytes)?,
                pooled::array(py, column.offsets, &self.integers)?,
            ))
        });
        Ok((
            pooled::array(py, columns.chroms, &self.chroms)?,
            pooled::array(py, columns.starts, &self.integers)?,
            pooled::array(py, columns.qualities, &self.floats)?,
            pooled::array(py, columns.lines, &self.integers)?,
            texts.collect::<PyResult<_>>()?,
            columns
                .fields
                .into_iter()
                .map(|column| field_arrays(py, column))
                .collect(),
            self.genotype_arrays(py, columns.genotypes)?,
        ))
    }

    fn genotype_arrays<'py>(
        &self,
        py: Python<'py>,
        genotypes: Genotypes,
    ) -> PyResult<GenotypeArrays<'py>> {
        let alleles = if genotypes.is_wide {
            genotypes.wide.into_pyarray(py).into_any()
        } else {
            pooled::array(py, genotypes.narrow, &self.alleles)?.into_any()
        };
        let phased = pooled::array(py, genotypes.phased, &self.phased)?.into_any();
        Ok((alleles, genotypes.ploidy, phased))
    }
}

fn field_arrays(py: Python<'_>, column: FieldColumn) -> FieldArrays<'_> {
    match column {
        FieldColumn::Flags(flags) => (flags.into_pyarray(py).into_any(), None, 0),
        FieldColumn::Integers(column) => {
            let width = column.width;
            (column.values.into_pyarray(py).into_any(), None, width)
        }
        FieldColumn::Floats(column) => {
            let width = column.width;
            (column.values.into_pyarray(py).into_any(), None, width)
        }
        FieldColumn::Texts(column) => {
            let offsets = column.offsets.into_pyarray(py);
            (column.data.into_pyarray(py).into_any(), Some(offsets), 0)
        }
    }
}

/// The number of records, the name of the index, and the reason why there is no index.
type SummaryTuple = (u64, Option<OsString>, Option<String>);

/// Writes a VCF file with the records of another file and further INFO fields. The file
/// exists only after `finish`.
#[python_export]
pub(crate) struct VariantFileWriter {
    /// The writer, or `None` after the file is finished or abandoned.
    writer: Option<VariantWriter>,
}

#[python_export]
impl VariantFileWriter {
    /// Opens `source`, and creates a temporary file next to `path`. `info` has the id, the
    /// number, the type and the description of each field.
    #[new]
    #[pyo3(signature = (path, source, *, info, threads))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        source: PathBuf,
        info: Vec<(String, String, String, String)>,
        threads: usize,
    ) -> PyResult<Self> {
        let info = info
            .into_iter()
            .map(|(id, number, kind, description)| InfoLine {
                id,
                number,
                kind,
                description,
            });
        let info: Vec<InfoLine> = info.collect();
        let writer = pool::run(py, 1, || {
            let options = VariantReaderOptions {
                threads,
                ..VariantReaderOptions::default()
            };
            let source = VariantReader::open(&source, &options)?;
            VariantWriter::new(&path, source, (&info, threads))
        })?;
        Ok(Self {
            writer: Some(writer),
        })
    }

    /// Adds a text to INFO of each of the next records, and writes the records.
    fn write(
        &mut self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        let Some(writer) = &mut self.writer else {
            return Err(finished_error(py));
        };
        pool::run(py, 1, || writer.write(Ragged::new(data, offsets)?))
    }

    /// Completes the file and its index.
    fn finish(&mut self, py: Python<'_>) -> PyResult<SummaryTuple> {
        let Some(writer) = self.writer.take() else {
            return Err(finished_error(py));
        };
        let summary = pool::run(py, 1, || writer.finish())?;
        let index = summary.index.map(PathBuf::into_os_string);
        Ok((summary.records, index, summary.no_index))
    }

    /// Removes the temporary file, unless the file was finished.
    fn abandon(&mut self, py: Python<'_>) {
        let writer = self.writer.take();
        py.detach(|| drop(writer));
    }
}

fn finished_error(py: Python<'_>) -> PyErr {
    let message = "the writer is closed; create a new VariantWriter";
    error::exception_for(py, &Error::argument(message))
}
