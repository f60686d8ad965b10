//! Reading of `.bed` files, and decoding of their rows in memory.

use std::path::PathBuf;

use numpy::{
    Element, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::{prelude::*, types::PyDict};
use seqloom_core::Error;
use seqloom_encode::genotype::Genotype;
use seqloom_load::genotype::read::decode_memory;
use seqloom_load::genotype::source::MemorySource;
use seqloom_load::genotype::{GenotypeRequest, Indices, MatrixOrder, read_genotypes};
use seqloom_macros::python_export;
use seqloom_plink::{Bed, Major, padding};

use crate::{error, pool};

/// An open `.bed` file.
#[python_export(frozen)]
pub(crate) struct BedFile {
    pub(crate) bed: Bed,
}

/// The number of individuals and the number of variants.
type BedShape = (usize, usize);

/// The selected individuals or variants; None means all.
type AxisPositions<'py> = Option<PyReadonlyArray1<'py, i64>>;

#[python_export]
impl BedFile {
    /// Opens a file, and checks its header immediately or before the first read.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, check: bool) -> PyResult<Self> {
        let bed = pool::run(py, 1, || Bed::open(&path, check))?;
        Ok(Self { bed })
    }

    /// The storage order of the file: `"SNP"` or `"individual"`.
    #[getter]
    fn major(&self, py: Python<'_>) -> PyResult<String> {
        error::raise(py, self.bed.major()).map(|major| major.to_string())
    }

    /// Fills `out`, an array of int8, float32 or float64 in C or Fortran order, with
    /// genotypes.
    #[pyo3(signature = (shape, iid, sid, out, *, count_a1, check, threads))]
    fn read(
        &self,
        py: Python<'_>,
        shape: BedShape,
        iid: AxisPositions<'_>,
        sid: AxisPositions<'_>,
        out: &Bound<'_, PyUntypedArray>,
        count_a1: bool,
        check: bool,
        threads: usize,
    ) -> PyResult<()> {
        let call = BedRead {
            shape,
            individuals: to_picks(py, iid, shape.0)?,
            variants: to_picks(py, sid, shape.1)?,
            count_a1,
            check,
            threads,
        };
        if let Ok(out) = out.cast::<PyArray2<i8>>() {
            self.fill(py, call, out)
        } else if let Ok(out) = out.cast::<PyArray2<f32>>() {
            self.fill(py, call, out)
        } else {
            self.fill(py, call, out.cast::<PyArray2<f64>>()?)
        }
    }

    /// Checks the length of the file and the last byte of each row against the tables.
    fn check_tail(&self, py: Python<'_>, shape: BedShape) -> PyResult<()> {
        pool::run(py, 1, || {
            padding::check_padding(&self.bed, &self.bed.layout(shape.0, shape.1)?)
        })?;
        issue_warning(py, &self.bed)
    }
}

/// The arguments of [`BedFile::read`], except the array to fill.
struct BedRead {
    shape: BedShape,
    individuals: Indices,
    variants: Indices,
    count_a1: bool,
    check: bool,
    threads: usize,
}

impl BedFile {
    fn fill<T: Genotype + Element>(
        &self,
        py: Python<'_>,
        call: BedRead,
        out: &Bound<'_, PyArray2<T>>,
    ) -> PyResult<()> {
        let tall = out.is_fortran_contiguous();
        let wide = out.is_c_contiguous();
        let mut out: PyReadwriteArray2<'_, T> = out.try_readwrite()?;
        let out = out.as_slice_mut()?;
        let threads = num_threads(call.threads, size_of_val(out));
        pool::run(py, threads, || {
            let layout = self.bed.layout(call.shape.0, call.shape.1)?;
            let natural = layout.major == Major::Variant;
            let order = if tall && (natural || !wide) {
                MatrixOrder::Variants
            } else {
                MatrixOrder::Individuals
            };
            let request = GenotypeRequest {
                bed: &self.bed,
                layout,
                individuals: call.individuals,
                variants: call.variants,
                table: T::code_table(call.count_a1),
                order,
                check: call.check,
            };
            read_genotypes(request, out)
        })?;
        issue_warning(py, &self.bed)
    }
}

/// Issues the warning about an open file, at most once.
pub(super) fn issue_warning(py: Python<'_>, bed: &Bed) -> PyResult<()> {
    let Some(warning) = bed.take_warning() else {
        return Ok(());
    };
    let shown = py
        .import("seqloom._text")?
        .call_method1("printable", (warning,))?;
    let options = PyDict::new(py);
    options.set_item("stacklevel", 3)?;
    py.import("warnings")?
        .call_method("warn", (shown,), Some(&options))?;
    Ok(())
}

/// Returns the number of threads: 1 for small results, because waking other threads
/// takes longer than the work.
fn num_threads(threads: usize, bytes: usize) -> usize {
    if bytes < PARALLEL_BYTES { 1 } else { threads }
}

const PARALLEL_BYTES: usize = 1 << 19;

fn to_picks(py: Python<'_>, positions: AxisPositions<'_>, count: usize) -> PyResult<Indices> {
    let Some(positions) = positions else {
        return Ok(Indices::all_of(count));
    };
    let positions = positions.as_slice()?.iter().map(|&at| usize::try_from(at));
    match positions.collect() {
        Ok(positions) => Ok(Indices::from_list(positions)),
        Err(_) => Err(error::exception_for(py, &negative_position())),
    }
}

fn negative_position() -> Error {
    Error::OutOfRange {
        message: "positions must be 0 or more".to_owned(),
    }
}

/// Decodes rows of two-bit codes in memory, an array `(rows, bytes)`, into `out` in C
/// order: `(rows, positions)` if `along`, else `(positions, rows)`.
#[python_export]
#[pyo3(signature = (lines, positions, out, *, along, count_a1, threads))]
pub(crate) fn decode_lines(
    py: Python<'_>,
    lines: PyReadonlyArray2<'_, u8>,
    positions: PyReadonlyArray1<'_, i64>,
    out: &Bound<'_, PyUntypedArray>,
    along: bool,
    count_a1: bool,
    threads: usize,
) -> PyResult<()> {
    let call = LineDecoding {
        source: MemorySource {
            lines: lines.as_slice()?,
            stride: lines.shape()[1],
        },
        positions: to_picks(py, Some(positions), 0)?,
        along,
        count_a1,
        threads,
    };
    if let Ok(out) = out.cast::<PyArray2<i8>>() {
        call.fill(py, out)
    } else if let Ok(out) = out.cast::<PyArray2<f32>>() {
        call.fill(py, out)
    } else {
        call.fill(py, out.cast::<PyArray2<f64>>()?)
    }
}

/// The arguments of [`decode_lines`], except the array to fill.
struct LineDecoding<'a> {
    source: MemorySource<'a>,
    positions: Indices,
    along: bool,
    count_a1: bool,
    threads: usize,
}

impl LineDecoding<'_> {
    fn fill<T: Genotype + Element>(
        self,
        py: Python<'_>,
        out: &Bound<'_, PyArray2<T>>,
    ) -> PyResult<()> {
        let mut out = out.try_readwrite()?;
        let (out, table) = (out.as_slice_mut()?, T::code_table(self.count_a1));
        pool::run(py, num_threads(self.threads, size_of_val(out)), || {
            decode_memory(self.source, self.positions, table, self.along, out)
        })
    }
}
