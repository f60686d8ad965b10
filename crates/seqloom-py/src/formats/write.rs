//! Writing of records.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::{prelude::*, types::PyBytes};
use seqloom_compression::{Compression, ReadError};
use seqloom_core::{Error, Ragged};
use seqloom_macros::python_export;
use seqloom_sequences::options::Format;
use seqloom_sequences::render::{RecordColumns, check_columns};
use seqloom_sequences::write::{RecordWriter, WriteTarget, WriterOptions};

use super::source::PythonFailure;
use crate::{error, pool};

/// Writes FASTA or FASTQ, plain or compressed. The file is complete only after
/// `finish`.
#[python_export]
pub(crate) struct SequenceWriter {
    /// The writer, or `None` after the file is finished.
    writer: Option<RecordWriter>,
    name: PathBuf,
    before: u64,
    failure: PythonFailure,
}

#[python_export]
impl SequenceWriter {
    /// Writes to `path`, or to `file`, a binary file object; error messages call the
    /// file `name`.
    #[new]
    #[pyo3(signature = (path, file=None, *, name, format, compression, line_width, level, threads))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        file: Option<Py<PyAny>>,
        name: PathBuf,
        format: &str,
        compression: &str,
        line_width: Option<usize>,
        level: u8,
        threads: usize,
    ) -> PyResult<Self> {
        let failure = PythonFailure::default();
        let shared = failure.clone();
        let writer = pool::run(py, 1, || {
            let options = WriterOptions {
                format: Format::from_name(format)?,
                compression: parse_compression(compression)?,
                level,
                line_width,
                threads,
            };
            let target: WriteTarget = match file {
                Some(object) => Box::new(PythonWriter {
                    object,
                    failure: shared,
                }),
                None => Box::new(File::create(&path).map_err(|error| Error::io(&name, &error))?),
            };
            RecordWriter::new(target, options)
        })?;
        Ok(Self {
            writer: Some(writer),
            name,
            before: 0,
            failure,
        })
    }

    /// Writes records. If any record could not be read back correctly, no record is
    /// written.
    #[pyo3(signature = (headers, header_offsets, data, offsets, qualities=None))]
    fn write(
        &mut self,
        py: Python<'_>,
        headers: PyReadonlyArray1<'_, u8>,
        header_offsets: PyReadonlyArray1<'_, i64>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
        qualities: Option<(PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, i64>)>,
    ) -> PyResult<()> {
        let (headers, starts) = (headers.as_slice()?, header_offsets.as_slice()?);
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        let qualities = match &qualities {
            Some((letters, positions)) => Some((letters.as_slice()?, positions.as_slice()?)),
            None => None,
        };
        let Some(writer) = &mut self.writer else {
            return Err(error::exception_for(py, &finished_error()));
        };
        let (before, name) = (self.before, &self.name);
        let written = pool::run(py, 1, || {
            let columns = RecordColumns {
                before,
                headers: Ragged::new(headers, starts)?,
                sequences: Ragged::new(data, offsets)?,
                qualities: qualities
                    .map(|(all, ends)| Ragged::new(all, ends))
                    .transpose()?,
            };
            check_columns(&columns)?;
            let written = writer.write(&columns);
            written.map_err(|error| match error {
                ReadError::Io(error) => Error::io(name, &error),
                ReadError::Damage(fault) => Error::format(name, fault),
            })
        });
        written.map_err(|error| self.failure.take().unwrap_or(error))?;
        self.before += u64::try_from(offsets.len() - 1).unwrap_or(0);
        Ok(())
    }

    /// Completes the file, and returns the number of records.
    fn finish(&mut self, py: Python<'_>) -> PyResult<u64> {
        let Some(writer) = self.writer.take() else {
            return Err(error::exception_for(py, &finished_error()));
        };
        let name = &self.name;
        let written = pool::run(py, 1, || {
            writer.finish().map_err(|error| Error::io(name, &error))
        });
        let written = written.map_err(|error| self.failure.take().unwrap_or(error))?;
        Ok(written.records)
    }
}

fn parse_compression(name: &str) -> seqloom_core::Result<Compression> {
    match name {
        "none" => Ok(Compression::None),
        "gzip" => Ok(Compression::Gzip),
        "bgzip" => Ok(Compression::Bgzip),
        _ => Err(Error::argument(format!(
            "compression must be none, gzip or bgzip, got {name:?}"
        ))),
    }
}

fn finished_error() -> Error {
    Error::argument("the file is finished: nothing can be written after its end")
}

/// A Python object with the method `write`.
struct PythonWriter {
    object: Py<PyAny>,
    failure: PythonFailure,
}

impl Write for PythonWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = Python::try_attach(|py| -> PyResult<usize> {
            let piece = PyBytes::new(py, bytes);
            let count = self.object.bind(py).call_method1("write", (piece,))?;
            Ok(count.extract::<Option<usize>>()?.unwrap_or(bytes.len()))
        });
        let written = written.ok_or_else(|| io::Error::other("Python is shutting down"))?;
        written.map_err(|error| self.failure.store(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = Python::try_attach(|py| self.object.bind(py).call_method0("flush").map(drop));
        let flushed = flushed.ok_or_else(|| io::Error::other("Python is shutting down"))?;
        flushed.map_err(|error| self.failure.store(error))
    }
}
