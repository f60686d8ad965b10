//! Storage and decoding of two-bit genotype codes, with one row per individual or
//! variant.

use std::path::PathBuf;

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
};
use pyo3::prelude::*;
use seqloom_core::{Error, Result, error::Fault};
use seqloom_encode::{genotype::Genotype, genotype::each::SelectByCode};
use seqloom_load::genotype::codes::{COUNTED_CODES, CodeRows};
use seqloom_load::genotype::content::hash_file;
use seqloom_load::genotype::progress::Progress;
use seqloom_load::genotype::relayout::Relayout;
use seqloom_load::genotype::sink::{BedSink, MemorySink};
use seqloom_macros::python_export;
use seqloom_plink::{Bed, Major};

use super::bed_file::{BedFile, issue_warning};
use crate::{error, pool};

type LineNumbers<'py> = PyReadonlyArray1<'py, i64>;

/// The number of elements below which waking other threads costs more time than it
/// saves.
const PARALLEL_SIZE: usize = 1 << 15;

/// The progress of a pass over a `.bed`, which another thread may read or cancel.
#[python_export(frozen)]
#[derive(Default)]
pub(crate) struct GenotypeWatch {
    progress: Progress,
}

#[python_export]
impl GenotypeWatch {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bytes of the `.bed` processed so far.
    #[getter]
    fn bytes(&self) -> u64 {
        self.progress.processed_bytes()
    }

    /// Cancels the pass over the `.bed`, which then raises an error.
    fn stop(&self) {
        self.progress.cancel();
    }
}

/// Returns 32 hexadecimal digits that identify the content of a `.bed`.
#[python_export]
pub(crate) fn hash_bed(
    py: Python<'_>,
    bed: &BedFile,
    watch: &GenotypeWatch,
    threads: usize,
) -> PyResult<String> {
    let hash = pool::run(py, threads, || hash_file(&bed.bed, &watch.progress))?;
    Ok(format!("{hash:032x}"))
}

/// A `.bed` that will be copied with one row per individual or per variant.
#[python_export(frozen)]
pub(crate) struct GenotypeLayer {
    bed: Py<BedFile>,
    shape: (usize, usize),
    by_sample: bool,
    variants: Option<Vec<usize>>,
}

#[python_export]
impl GenotypeLayer {
    /// Prepares a copy with one row for each individual if `by_sample`, else for each
    /// variant. If `variants` is None, all variants are copied.
    #[new]
    #[pyo3(signature = (bed, shape, by_sample, variants))]
    fn new(
        py: Python<'_>,
        bed: Py<BedFile>,
        shape: (usize, usize),
        by_sample: bool,
        variants: Option<LineNumbers<'_>>,
    ) -> PyResult<Self> {
        let variants = variants
            .map(|variants| indices(py, &variants, shape.1))
            .transpose()?;
        Ok(Self {
            bed,
            shape,
            by_sample,
            variants,
        })
    }

    /// Stores the rows in memory.
    #[pyo3(signature = (watch, *, room, check, threads))]
    fn hold(
        &self,
        py: Python<'_>,
        watch: &GenotypeWatch,
        room: usize,
        check: bool,
        threads: usize,
    ) -> PyResult<GenotypeCodes> {
        let codes = pool::run(py, threads, || {
            let relayout = self.relayout(&watch.progress, room)?;
            let mut memory = MemorySink::new(&relayout.layout())?;
            relayout.write_copy(&mut memory, check)?;
            Ok(CodeRows::in_memory(relayout.layout(), memory.into_lines()))
        })?;
        issue_warning(py, &self.bed.get().bed)?;
        Ok(GenotypeCodes { codes })
    }

    /// Stores the rows in a file, and returns the checksum of each row.
    #[pyo3(signature = (path, watch, *, room, check, threads))]
    fn write<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        watch: &GenotypeWatch,
        room: usize,
        check: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let sums = pool::run(py, threads, || {
            let relayout = self.relayout(&watch.progress, room)?;
            let mut file = BedSink::create(&path, relayout.layout())?;
            relayout.write_copy(&mut file, check)?;
            file.sync_to_disk()
        })?;
        issue_warning(py, &self.bed.get().bed)?;
        Ok(sums.into_pyarray(py))
    }
}

impl GenotypeLayer {
    fn relayout<'a>(&'a self, progress: &'a Progress, max_bytes: usize) -> Result<Relayout<'a>> {
        let bed = &self.bed.get().bed;
        Ok(Relayout {
            bed,
            layout: bed.layout(self.shape.0, self.shape.1)?,
            major: Major::of(self.by_sample),
            variants: self.variants.as_deref(),
            max_bytes,
            progress,
        })
    }
}

/// Rows of two-bit codes by index, in memory or in an open file.
#[python_export(frozen)]
pub(crate) struct GenotypeCodes {
    codes: CodeRows,
}

#[python_export]
impl GenotypeCodes {
    /// Opens a file with one row per individual or variant. If `sums` is passed, each
    /// row is compared with its checksum.
    #[staticmethod]
    #[pyo3(signature = (path, shape, by_sample, sums))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        shape: (usize, usize),
        by_sample: bool,
        sums: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Self> {
        let sums = sums
            .map(|sums| sums.as_slice().map(<[u64]>::to_vec))
            .transpose()?;
        let codes = pool::run(py, 1, || {
            let bed = Bed::open(&path, true)?;
            let layout = bed.layout(shape.0, shape.1)?;
            if layout.major != Major::of(by_sample) {
                let found = format!("rows have an unexpected layout ({})", layout.major);
                return Err(bed.to_error(Fault::of_file(found)));
            }
            CodeRows::from_file(bed, layout, sums)
        })?;
        Ok(Self { codes })
    }

    /// Decodes the selected rows; `tables` contains the value of each code for each
    /// position `(codes, positions)` or, with `by_line`, for each row `(codes, rows)`.
    /// `out` must have the same type as `tables`: int8, float32 or float64.
    #[pyo3(signature = (lines, tables, out, *, by_line, threads))]
    fn decode(
        &self,
        py: Python<'_>,
        lines: LineNumbers<'_>,
        tables: &Bound<'_, PyUntypedArray>,
        out: &Bound<'_, PyUntypedArray>,
        by_line: bool,
        threads: usize,
    ) -> PyResult<()> {
        let lines = indices(py, &lines, self.codes.layout().lines())?;
        let call = (&lines[..], by_line, threads);
        if out.cast::<PyArray2<i8>>().is_ok() {
            self.fill::<i8>(py, call, tables, out)
        } else if out.cast::<PyArray2<f32>>().is_ok() {
            self.fill::<f32>(py, call, tables, out)
        } else {
            self.fill::<f64>(py, call, tables, out)
        }
    }

    /// Returns the codes of the selected rows, four per byte; unused bits at the end
    /// are 0.
    #[pyo3(signature = (lines, out, *, threads))]
    fn gather(
        &self,
        py: Python<'_>,
        lines: LineNumbers<'_>,
        out: &Bound<'_, PyArray2<u8>>,
        threads: usize,
    ) -> PyResult<()> {
        let lines = indices(py, &lines, self.codes.layout().lines())?;
        let mut out = out.try_readwrite()?;
        let out = out.as_slice_mut()?;
        let threads = num_threads(threads, 4 * out.len());
        pool::run(py, threads, || self.codes.copy_lines(&lines, out))
    }

    /// Returns the counts of missing, heterozygous and homozygous A2 genotypes at each
    /// position of the selected rows or, with `by_line`, in each of these rows.
    #[pyo3(signature = (lines, *, by_line, threads))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        lines: LineNumbers<'_>,
        by_line: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let lines = indices(py, &lines, self.codes.layout().lines())?;
        let counts = pool::run(py, threads, || {
            if by_line {
                self.codes.count_lines(&lines)
            } else {
                self.codes.count_positions(&lines)
            }
        })?;
        let size = counts.len();
        let flat = counts.into_flattened().into_pyarray(py);
        flat.reshape([size, COUNTED_CODES])
    }
}

impl GenotypeCodes {
    fn fill<T: Genotype + SelectByCode + Element>(
        &self,
        py: Python<'_>,
        (lines, by_line, threads): (&[usize], bool, usize),
        tables: &Bound<'_, PyUntypedArray>,
        out: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<()> {
        let tables = tables.cast::<PyArray2<T>>()?.try_readonly()?;
        let tables = tables.as_slice()?;
        let mut out = out.cast::<PyArray2<T>>()?.try_readwrite()?;
        let out = out.as_slice_mut()?;
        let each = tables.len() / 4;
        let table = |code: usize| {
            tables
                .get(code * each..(code + 1) * each)
                .unwrap_or_default()
        };
        let tables = std::array::from_fn(table);
        pool::run(py, num_threads(threads, out.len()), || {
            if by_line {
                self.codes.decode_lines(lines, tables, out)
            } else {
                self.codes.decode(lines, tables, out)
            }
        })
    }
}

/// Returns the number of threads: 1 for small results, because waking other threads
/// takes longer than the work.
fn num_threads(threads: usize, numbers: usize) -> usize {
    if numbers < PARALLEL_SIZE { 1 } else { threads }
}

/// Checks that positions are within an axis.
fn indices(py: Python<'_>, positions: &LineNumbers<'_>, count: usize) -> PyResult<Vec<usize>> {
    let check = |position: &i64| match usize::try_from(*position) {
        Ok(position) if position < count => Ok(position),
        _ => Err(error::exception_for(
            py,
            &Error::OutOfRange {
                message: format!("position {position} of {count}"),
            },
        )),
    };
    positions.as_slice()?.iter().map(check).collect()
}
