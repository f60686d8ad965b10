//! Packed batches of the records of files.

use std::{path::PathBuf, sync::Arc};

use numpy::{IntoPyArray, PyArray1};
use pyo3::{prelude::*, types::PyBytes};
use seqloom_core::{BufferPool, Error};
use seqloom_load::packed::{
    BatchStream, Cause, Origin, PackedBatch, PackingFailure, PackingRule, PrefetchedStream,
    RecordFiles, ResumePoint, SequenceFile, WindowCutter,
};
use seqloom_macros::python_export;
use seqloom_sequences::ReaderOptions;
use seqloom_sequences::options::{Comments, MissingIds, QualityEncoding, Whitespace};

use super::{maker::Names, tokeniser::Tokeniser};
use crate::{encode::kernel::SequenceKernel, error, formats::index::SequenceIndex, pool, pooled};

/// The number of batches that a thread makes in advance.
const PREFETCHED_BATCHES: usize = 4;

/// A batch of windows. The items are the tokens, the positions, the offsets of windows
/// and the maximum window length. The next items are the ids, ordinals, first residues
/// and lengths of records. The last items are the ranges of residues that merging uses,
/// and counts of unusual residues.
type PackedTuple<'py> = (
    [Bound<'py, PyArray1<u32>>; 2],
    Bound<'py, PyArray1<i32>>,
    usize,
    Names,
    [Bound<'py, PyArray1<i64>>; 3],
    Bound<'py, PyArray1<i32>>,
    Option<[i64; 7]>,
);

/// A resume point. The first item is the (file, index, ordinal) of the first record to
/// read again. The second item is the (ordinal, first residue) of the next window. The
/// last items are the hash of the earlier content, and the (ordinal, first residue) of
/// each waiting window.
type ResumeTuple = ((usize, u64, u64), (u64, u64), u64, Vec<(u64, u64)>);

/// An invalid record. The first items are the record's file, index, id and number of
/// residues. The next items are the kind of error, the number of tokens, and the
/// position, the character and the expected characters. The kind of error is `"empty"`,
/// `"long"`, `"letter"` (an invalid character) or `"other"`.
type RefusalTuple<'py> = (
    usize,
    u64,
    Bound<'py, PyBytes>,
    usize,
    &'static str,
    usize,
    Option<(usize, u8, String)>,
);

/// Reads files, and packs the tokens of their records.
#[python_export]
pub(crate) struct PackedStream {
    running: Option<StreamMode>,
    buffer_pool: BufferPool<u32>,
    place: Option<ResumePoint>,
    failed: Option<PackingFailure>,
}

/// The thread on which batches are made.
enum StreamMode {
    /// Batches are made on the calling thread.
    Here(Box<BatchStream<Tokeniser>>),
    /// Batches are made on a separate thread, in advance.
    Ahead(PrefetchedStream<Tokeniser>),
}

#[python_export]
impl PackedStream {
    /// Starts reading at a resume point. Tokens are computed by `kernel`, or by
    /// `function`. The function converts concatenated residues and their offsets to
    /// tokens and their offsets, up to the first invalid sequence.
    #[new]
    #[pyo3(signature = (paths, index, kernel, function, place, *, max_tokens, window, max_length,
        overlap, keeps_empty, stop, quality, comments, whitespace, ids, threads))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        index: Option<&SequenceIndex>,
        kernel: Option<Py<SequenceKernel>>,
        function: Option<Py<PyAny>>,
        place: ResumeTuple,
        max_tokens: usize,
        window: usize,
        max_length: Option<usize>,
        overlap: usize,
        keeps_empty: bool,
        stop: Option<u64>,
        quality: &str,
        comments: &str,
        whitespace: &str,
        ids: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let rule = || -> seqloom_core::Result<(PackingRule, ReaderOptions)> {
            let rule = PackingRule {
                capacity: max_tokens,
                window,
                cut: WindowCutter::new(max_length, overlap)?,
                keeps_empty,
            };
            let options = ReaderOptions {
                quality: QualityEncoding::from_name(quality)?,
                comments: Comments::from_name(comments)?,
                whitespace: Whitespace::from_name(whitespace)?,
                ids: MissingIds::from_name(ids)?,
                with_qualities: false,
                threads,
                ..ReaderOptions::default()
            };
            Ok((rule, options))
        };
        let (rule, options) = error::raise(py, rule())?;
        let tokeniser = Tokeniser::new(py, kernel, function)?;
        let runs_ahead = threads > 1 && !tokeniser.is_python();
        let place = resume_point(place);
        let inputs = files(paths, index, place.from.file);
        let files = RecordFiles::new(inputs, options, place.from, stop);
        let buffer_pool = BufferPool::default();
        let stream = BatchStream::new(files, rule, tokeniser, place, buffer_pool.clone());
        let running = if runs_ahead {
            StreamMode::Ahead(PrefetchedStream::start(stream, PREFETCHED_BATCHES))
        } else {
            StreamMode::Here(Box::new(stream))
        };
        Ok(Self {
            running: Some(running),
            buffer_pool,
            place: None,
            failed: None,
        })
    }

    /// Returns the next batch, or None after the last batch or at an invalid record.
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<PackedTuple<'py>>> {
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        let answer = pool::run(py, 1, || match running {
            StreamMode::Here(stream) => Ok(stream.next_batch()),
            StreamMode::Ahead(stream) => stream.next_batch(),
        })?;
        match answer {
            Ok(Some(packed)) => self.convert(py, packed).map(Some),
            Ok(None) => Ok(None),
            Err(PackingFailure::Reading(failure)) => Err(error::exception_for(py, &failure)),
            Err(failure) => {
                self.failed = Some(failure);
                Ok(None)
            }
        }
    }

    /// Returns the resume point after the latest batch, or None before the first batch.
    fn place(&self) -> Option<ResumeTuple> {
        let place = self.place.as_ref()?;
        let from = (place.from.file, place.from.record, place.from.ordinal);
        Some((from, place.next, place.content, place.waiting.clone()))
    }

    /// Returns a hash of the ids and residues of all records, after the last batch.
    fn content(&self) -> Option<u64> {
        match self.running.as_ref()? {
            StreamMode::Here(stream) => Some(stream.content_hash()),
            StreamMode::Ahead(stream) => stream.content_hash(),
        }
    }

    /// Returns the invalid record, if any.
    fn refusal<'py>(&self, py: Python<'py>) -> Option<RefusalTuple<'py>> {
        let Some(PackingFailure::Record {
            origin,
            id,
            letters,
            cause,
        }) = &self.failed
        else {
            return None;
        };
        let (kind, tokens, fault) = describe_cause(cause);
        let id = PyBytes::new(py, id);
        Some((
            origin.file,
            origin.record,
            id,
            *letters,
            kind,
            tokens,
            fault,
        ))
    }

    /// Stops a thread that makes batches, and closes the files.
    fn close(&mut self, py: Python<'_>) {
        // Releases the GIL, because the thread may wait for the GIL before it ends.
        let running = self.running.take();
        py.detach(|| drop(running));
    }
}

impl PackedStream {
    fn convert<'py>(&mut self, py: Python<'py>, packed: PackedBatch) -> PyResult<PackedTuple<'py>> {
        let met = packed.met;
        self.place = Some(packed.resume);
        Ok((
            [
                pooled::array(py, packed.tokens, &self.buffer_pool)?,
                pooled::array(py, packed.positions, &self.buffer_pool)?,
            ],
            packed.bounds.into_pyarray(py),
            packed.longest,
            Names::new(packed.ids),
            [packed.ordinals, packed.starts, packed.lengths].map(|column| column.into_pyarray(py)),
            packed.keep.into_pyarray(py),
            met.iter().any(|count| *count > 0).then_some(met),
        ))
    }
}

impl Drop for PackedStream {
    fn drop(&mut self) {
        let running = self.running.take();
        Python::try_attach(|py| py.detach(move || drop(running)));
    }
}

fn resume_point(((file, record, ordinal), next, content, waiting): ResumeTuple) -> ResumePoint {
    ResumePoint {
        from: Origin {
            file,
            record,
            ordinal,
        },
        next,
        content,
        waiting,
    }
}

/// Returns the files to read; the first one has an index if an index is given.
fn files(paths: Vec<PathBuf>, index: Option<&SequenceIndex>, first: usize) -> Vec<SequenceFile> {
    let index = |file| {
        let index = index.filter(|_| file == first);
        index.map(|index| Arc::clone(&index.index))
    };
    let named = paths.into_iter().enumerate();
    named
        .map(|(file, path)| SequenceFile {
            path,
            index: index(file),
        })
        .collect()
}

fn describe_cause(cause: &Cause) -> (&'static str, usize, Option<(usize, u8, String)>) {
    match cause {
        Cause::Empty => ("empty", 0, None),
        Cause::Long(tokens) => ("long", *tokens, None),
        Cause::Tokens(Error::Letter {
            position,
            letter,
            expected,
            ..
        }) => (
            "letter",
            0,
            Some((*position, *letter, expected.to_string())),
        ),
        Cause::Tokens(_) => ("other", 0, None),
    }
}
