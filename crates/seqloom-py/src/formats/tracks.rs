//! Reading and writing of signal tracks.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use seqloom_core::{Error, Result};
use seqloom_macros::python_export;
use seqloom_tracks::{BigWigWriter, Bins, Missing, Reduction, Span, Track, fetch};

use crate::error::{exception_for, raise};
use crate::pool;

/// Starts, stops and values of ranges.
type EntryArrays<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f32>>,
);

/// A bigWig file, or a bedGraph file in memory; the format is detected from the content.
#[python_export(frozen)]
pub(crate) struct TrackFile {
    track: Track,
}

#[python_export]
impl TrackFile {
    /// Opens a file.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let track = pool::run(py, 1, || Track::open(&path))?;
        Ok(Self { track })
    }

    /// The names and lengths of the contigs; bedGraph files have no lengths.
    #[getter]
    fn contigs(&self) -> Vec<(String, Option<u32>)> {
        let contigs = self.track.contigs().iter();
        contigs.map(|it| (it.name.clone(), it.length)).collect()
    }

    /// Returns the ranges with values that overlap a range of the contig with this number.
    fn entries<'py>(
        &self,
        py: Python<'py>,
        contig: usize,
        start: u32,
        stop: u32,
    ) -> PyResult<EntryArrays<'py>> {
        let found = pool::run(py, 1, || self.track.entries(contig, start, stop))?;
        Ok((
            found.starts.into_pyarray(py),
            found.stops.into_pyarray(py),
            found.values.into_pyarray(py),
        ))
    }
}

/// Writes a bigWig file; it appears at its path when it is finished.
#[python_export]
pub(crate) struct TrackFileWriter {
    /// The writer, or `None` after the file is finished or abandoned.
    writer: Option<BigWigWriter>,
}

#[python_export]
impl TrackFileWriter {
    /// Creates a temporary file next to `path`, with the names and lengths of contigs.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, contigs: Vec<(String, u32)>) -> PyResult<Self> {
        let writer = pool::run(py, 1, || BigWigWriter::create(&path, contigs))?;
        Ok(Self {
            writer: Some(writer),
        })
    }

    /// Adds sorted ranges of the contig with this number.
    fn write(
        &mut self,
        py: Python<'_>,
        contig: usize,
        starts: PyReadonlyArray1<'_, u32>,
        stops: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let columns = (starts.as_slice()?, stops.as_slice()?, values.as_slice()?);
        let Some(writer) = &mut self.writer else {
            return Err(finished_error(py));
        };
        pool::run(py, 1, || {
            writer.write(contig, columns.0, columns.1, columns.2)
        })
    }

    /// Completes the file.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(writer) = self.writer.take() else {
            return Err(finished_error(py));
        };
        pool::run(py, 1, || writer.finish().map(|_| ()))
    }

    /// Removes the temporary file, unless the file was finished.
    fn abandon(&mut self, py: Python<'_>) {
        let writer = self.writer.take();
        py.detach(|| drop(writer));
    }
}

fn finished_error(py: Python<'_>) -> PyErr {
    let message = "the writer is closed; create a new TrackWriter";
    exception_for(py, &Error::argument(message))
}

/// Fills `out`, an array (spans, tracks, bins), with the values of ranges. A span is the
/// number of a contig and a start; `contigs` has the number of each contig in each track,
/// or -1. `reduction` is mean, sum or max; `missing` is nan, zero or error.
#[python_export]
pub(crate) fn fetch_tracks(
    py: Python<'_>,
    files: Vec<PyRef<'_, TrackFile>>,
    contigs: Vec<Vec<i64>>,
    spans: (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, i64>),
    bins: (usize, usize),
    reduction: &str,
    missing: &str,
    mut out: PyReadwriteArray1<'_, f32>,
    threads: usize,
) -> PyResult<()> {
    let tracks: Vec<&Track> = files.iter().map(|file| &file.track).collect();
    let numbers: Vec<Vec<Option<usize>>> = contigs
        .into_iter()
        .map(|each| {
            each.into_iter()
                .map(|it| usize::try_from(it).ok())
                .collect()
        })
        .collect();
    let pairs = spans.0.as_slice()?.iter().zip(spans.1.as_slice()?);
    let spans = pairs.map(|(contig, start)| Span {
        contig: usize::try_from(*contig).unwrap_or(usize::MAX),
        start: *start,
    });
    let spans: Vec<Span> = spans.collect();
    let bins = Bins {
        count: bins.0,
        width: bins.1,
        reduction: raise(py, to_reduction(reduction))?,
        missing: raise(py, to_missing(missing))?,
    };
    let out = out.as_slice_mut()?;
    pool::run(py, threads, || {
        fetch(&tracks, &numbers, &spans, &bins, out, threads)
    })
}

fn to_reduction(name: &str) -> Result<Reduction> {
    match name {
        "mean" => Ok(Reduction::Mean),
        "sum" => Ok(Reduction::Sum),
        "max" => Ok(Reduction::Max),
        _ => Err(Error::argument(format!("reduction is {name:?}"))),
    }
}

fn to_missing(name: &str) -> Result<Missing> {
    match name {
        "nan" => Ok(Missing::Nan),
        "zero" => Ok(Missing::Zero),
        "error" => Ok(Missing::Error),
        _ => Err(Error::argument(format!("missing is {name:?}"))),
    }
}
