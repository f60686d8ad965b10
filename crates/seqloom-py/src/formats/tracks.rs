//! Reading and writing of signal tracks.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use seqloom_core::{Error, Result};
use seqloom_macros::python_export;
use seqloom_tracks::{
    BigWigWriter, Bins, EndRules, Entries, Fragments, Missing, Reduction, Span, Track, fetch,
};

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
        Ok(to_arrays(py, found))
    }
}

fn to_arrays(py: Python<'_>, entries: Entries) -> EntryArrays<'_> {
    (
        entries.starts.into_pyarray(py),
        entries.stops.into_pyarray(py),
        entries.values.into_pyarray(py),
    )
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

/// Contigs, starts and stops of fragments.
type FragmentArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Counts the ends of the fragments of a file, contig after contig.
#[python_export]
pub(crate) struct FragmentFile {
    fragments: Fragments,
}

#[python_export]
impl FragmentFile {
    /// Opens a file. `contigs` are the names and lengths of the genome. `shift` is added to
    /// the ends on the plus and on the minus strand.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        contigs: Vec<(String, u32)>,
        shift: (i64, i64),
        count_duplicates: bool,
        drop_outside: bool,
    ) -> PyResult<Self> {
        let rules = EndRules {
            shift,
            count_duplicates,
            drop_outside,
        };
        let fragments = pool::run(py, 1, || Fragments::open(&path, contigs, rules))?;
        Ok(Self { fragments })
    }

    /// Returns the number of the next contig in the genome, and the counts of its ends: one
    /// track, or one for each strand.
    fn next_contig<'py>(
        &mut self,
        py: Python<'py>,
        by_strand: bool,
    ) -> PyResult<Option<(usize, Vec<EntryArrays<'py>>)>> {
        let fragments = &mut self.fragments;
        let found = pool::run(py, 1, || {
            let ends = fragments.next_contig()?;
            Ok(ends.map(|ends| {
                let contig = ends.contig();
                let tracks = if by_strand {
                    ends.into_strands().into()
                } else {
                    vec![ends.into_counts()]
                };
                (contig, tracks)
            }))
        })?;
        Ok(found.map(|(contig, tracks)| {
            let tracks = tracks.into_iter();
            (contig, tracks.map(|it| to_arrays(py, it)).collect())
        }))
    }

    /// Returns the next fragments that are within contigs of the genome.
    fn sample<'py>(&mut self, py: Python<'py>, count: usize) -> PyResult<FragmentArrays<'py>> {
        let fragments = &mut self.fragments;
        let found = pool::run(py, 1, || fragments.sample(count))?;
        Ok((
            found.0.into_pyarray(py),
            found.1.into_pyarray(py),
            found.2.into_pyarray(py),
        ))
    }

    /// The number of fragments, the number of ends outside of their contigs, and the number
    /// of fragments on each contig that the genome lacks.
    #[getter]
    fn tally(&self) -> (u64, u64, Vec<(String, u64)>) {
        let tally = self.fragments.tally().clone();
        (tally.fragments, tally.outside, tally.absent)
    }
}
