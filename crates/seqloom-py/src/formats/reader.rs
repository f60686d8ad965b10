//! Reading of sequence files, batch by batch.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use numpy::PyArray1;
use pyo3::prelude::*;
use seqloom_compression::input::BufferedInput;
use seqloom_core::{BufferPool, Error};
use seqloom_index::{open_reader, open_reader_at_record};
use seqloom_macros::python_export;
use seqloom_sequences::options::{
    Comments, Format, MissingIds, OnError, QualityEncoding, Whitespace,
};
use seqloom_sequences::sniff::{ReadPurpose, describe_unsupported};
use seqloom_sequences::{Batch, Reader, ReaderOptions};

use super::source::{PythonFailure, PythonReader};
use crate::{error, pool, pooled};

/// A batch: residues and their offsets, headers and their offsets, and the qualities of
/// FASTQ.
pub(super) type BatchArrays<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Option<Bound<'py, PyArray1<u8>>>,
);

/// The error of a skipped record: kind, record number, id, line, byte, expected value
/// and found value.
type FaultTuple = (
    String,
    Option<u64>,
    Option<String>,
    Option<u64>,
    Option<u64>,
    String,
);

/// The number of records, the number of skipped records by kind of error, and the
/// errors themselves if they are collected.
type ReportTuple = (u64, BTreeMap<String, u64>, Vec<FaultTuple>);

/// Reads a FASTA or FASTQ file; format and compression are detected from the content.
#[python_export]
pub(crate) struct SequenceReader {
    /// The reader, or `None` after it is closed.
    reader: Option<Reader>,
    path: PathBuf,
    failure: PythonFailure,
    buffers: BatchBuffers,
}

#[python_export]
impl SequenceReader {
    /// Opens `path`, or reads the binary file object `file`; error messages name `path`
    /// in both cases. With `start`, reads a gzip file from that record, with the index
    /// file next to it.
    #[new]
    #[pyo3(signature = (path, file=None, *, format=None, quality="phred33", on_error="raise",
        comments="error", whitespace="error", ids="error", max_record=None, expect=None, require_eof=true,
        with_qualities=true, threads=1, start=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        file: Option<Bound<'_, PyAny>>,
        format: Option<&str>,
        quality: &str,
        on_error: &str,
        comments: &str,
        whitespace: &str,
        ids: &str,
        max_record: Option<u64>,
        expect: Option<u64>,
        require_eof: bool,
        with_qualities: bool,
        threads: usize,
        start: Option<u64>,
    ) -> PyResult<Self> {
        let options = || -> seqloom_core::Result<ReaderOptions> {
            Ok(ReaderOptions {
                format: format.map(Format::from_name).transpose()?,
                quality: QualityEncoding::from_name(quality)?,
                on_error: OnError::from_name(on_error)?,
                comments: Comments::from_name(comments)?,
                whitespace: Whitespace::from_name(whitespace)?,
                ids: MissingIds::from_name(ids)?,
                max_record,
                expect,
                require_eof,
                with_qualities,
                threads,
            })
        };
        let options = error::raise(py, options())?;
        let failure = PythonFailure::default();
        let source = match file {
            Some(object) => Some(PythonReader::new(&object, &failure)?),
            None => None,
        };
        let opened = pool::run(py, 1, || match (source, start) {
            (Some(source), _) => Reader::new(&path, BufferedInput::new(Box::new(source)), &options),
            (None, Some(start)) => open_reader_at_record(&path, &options, start),
            (None, None) => open_reader(&path, &options),
        });
        let reader = opened.map_err(|error| failure.take().unwrap_or(error))?;
        Ok(Self {
            reader: Some(reader),
            path,
            failure,
            buffers: BatchBuffers::default(),
        })
    }

    /// The path of the file, as the caller passed it.
    #[getter]
    fn path(&self) -> OsString {
        self.path.as_os_str().to_os_string()
    }

    /// The format of the records: "fasta" or "fastq".
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open_reader(py)?.format().to_string())
    }

    /// The compression of the file: "none", "gzip", "bgzip", "bzip2", "zstd" or "xz".
    #[getter]
    fn compression(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open_reader(py)?.compression().to_string())
    }

    /// Returns the numbers of records read and skipped so far.
    fn report(&self, py: Python<'_>) -> PyResult<ReportTuple> {
        let report = self.open_reader(py)?.report();
        let counts = report.left_out.iter();
        let faults = report.faults.into_iter().map(|fault| {
            let kind = fault.kind.to_string();
            (
                kind,
                fault.record,
                fault.id,
                fault.line,
                fault.byte,
                fault.message,
            )
        });
        Ok((
            report.records,
            counts
                .map(|(kind, count)| (kind.to_string(), *count))
                .collect(),
            faults.collect(),
        ))
    }

    /// Reads the next records, at most `max_records` with about `max_bytes` bytes of
    /// residues. Returns residues, offsets, headers, their offsets and qualities (None
    /// for FASTA), or None at the end. The memory of released arrays is reused.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        max_records: usize,
        max_bytes: usize,
    ) -> PyResult<Option<BatchArrays<'py>>> {
        let Some(reader) = &mut self.reader else {
            return Err(closed_error(py));
        };
        let buffers = &self.buffers;
        let read = pool::run(py, 1, || {
            let mut batch = buffers.take_batch();
            let is_more = reader.refill_batch(&mut batch, max_records, max_bytes)?;
            Ok(is_more.then_some(batch))
        });
        let batch = read.map_err(|error| self.failure.take().unwrap_or(error))?;
        batch
            .map(|batch| self.buffers.to_arrays(py, batch))
            .transpose()
    }

    /// Closes the file.
    fn close(&mut self, py: Python<'_>) {
        // Releases the GIL, because the thread that reads ahead may wait for the GIL
        // before it ends.
        let reader = self.reader.take();
        py.detach(|| drop(reader));
    }
}

impl SequenceReader {
    fn open_reader(&self, py: Python<'_>) -> PyResult<&Reader> {
        self.reader.as_ref().ok_or_else(|| closed_error(py))
    }
}

impl Drop for SequenceReader {
    fn drop(&mut self) {
        let reader = self.reader.take();
        Python::try_attach(|py| py.detach(move || drop(reader)));
    }
}

fn closed_error(py: Python<'_>) -> PyErr {
    error::exception_for(py, &Error::argument("the reader is closed"))
}

/// The columns of a batch, in reused memory.
#[derive(Default)]
struct BatchBuffers {
    letters: BufferPool<u8>,
    offsets: BufferPool<i64>,
    headers: BufferPool<u8>,
    header_offsets: BufferPool<i64>,
    qualities: BufferPool<u8>,
}

impl BatchBuffers {
    fn take_batch(&self) -> Batch {
        Batch {
            data: self.letters.take(),
            offsets: self.offsets.take(),
            headers: self.headers.take(),
            header_offsets: self.header_offsets.take(),
            qualities: self.qualities.take(),
            has_qualities: false,
        }
    }

    fn to_arrays<'py>(&self, py: Python<'py>, batch: Batch) -> PyResult<BatchArrays<'py>> {
        let qualities = batch
            .has_qualities
            .then(|| pooled::array(py, batch.qualities, &self.qualities));
        Ok((
            pooled::array(py, batch.data, &self.letters)?,
            pooled::array(py, batch.offsets, &self.offsets)?,
            pooled::array(py, batch.headers, &self.headers)?,
            pooled::array(py, batch.header_offsets, &self.header_offsets)?,
            qualities.transpose()?,
        ))
    }
}

/// Returns the type of a file that begins with these bytes, and how to convert the
/// file. Returns None if the file can be read as `purpose` (intervals or table).
#[python_export]
pub(crate) fn foreign_content(start: Vec<u8>, purpose: &str) -> Option<String> {
    let purpose = match purpose {
        "intervals" => ReadPurpose::Intervals,
        _ => ReadPurpose::Table,
    };
    describe_unsupported(&start, purpose)
}
