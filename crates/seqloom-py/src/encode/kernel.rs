//! Encoders: from sequences to arrays of any type.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use seqloom_core::{Ragged, Result};
use seqloom_encode::{
    AnyKernel, Frame, KmerCounts, KmerWords, Kmers, LetterCounts, Lookup, OneHot, RowKernel,
    RowLayout, Word, fill,
};
use seqloom_macros::native;

use super::letters::Letters;
use crate::error::raise;
use crate::pool;
use crate::pooled::PooledBytes;

/// A kernel for numbers of one, two, four or eight bytes.
enum ByWidth {
    One(Box<dyn RowKernel<u8>>),
    Two(Box<dyn RowKernel<u16>>),
    Four(Box<dyn RowKernel<u32>>),
    Eight(Box<dyn RowKernel<u64>>),
}

/// An array of unsigned integers, which are the bits of numbers of the same size.
#[derive(FromPyObject)]
pub(crate) enum UintArray<'py> {
    One(PyReadonlyArray1<'py, u8>),
    Two(PyReadonlyArray1<'py, u16>),
    Four(PyReadonlyArray1<'py, u32>),
    Eight(PyReadonlyArray1<'py, u64>),
}

#[cfg(feature = "stubs")]
impl pyo3_stub_gen::PyStubType for UintArray<'_> {
    fn type_output() -> pyo3_stub_gen::TypeInfo {
        PyArray1::<u8>::type_output()
            | PyArray1::<u16>::type_output()
            | PyArray1::<u32>::type_output()
            | PyArray1::<u64>::type_output()
    }
}

/// Makes a kernel for the type of the numbers in an array.
macro_rules! typed {
    ($bits:expr, $kind:ident, |$numbers:ident| $kernel:expr) => {
        match $bits {
            UintArray::One($numbers) => Ok(ByWidth::One(Word::boxed(AnyKernel::$kind($kernel)))),
            UintArray::Two($numbers) => Ok(ByWidth::Two(Word::boxed(AnyKernel::$kind($kernel)))),
            UintArray::Four($numbers) => Ok(ByWidth::Four(Word::boxed(AnyKernel::$kind($kernel)))),
            UintArray::Eight($numbers) => {
                Ok(ByWidth::Eight(Word::boxed(AnyKernel::$kind($kernel))))
            }
        }
    };
}

/// Turns sequences into numbers.
#[native(frozen)]
pub(crate) struct SequenceKernel {
    letters: Py<Letters>,
    typed: ByWidth,
}

#[native]
impl SequenceKernel {
    /// A channel for each member; `rows` says what each of the 256 bytes puts into them.
    #[staticmethod]
    fn one_hot(
        py: Python<'_>,
        letters: Py<Letters>,
        rows: UintArray<'_>,
        channels_first: bool,
    ) -> PyResult<Self> {
        let known = &letters.get().inner;
        let typed = typed!(rows, OneHot, |rows| raise(
            py,
            OneHot::new(known, rows.as_slice()?.to_vec(), channels_first)
        )?);
        Self::new(letters, typed)
    }

    /// A number for each letter; `specials` has the padding, the unknown token and, where
    /// there are such, those at the start and at the end.
    #[staticmethod]
    fn lookup(
        py: Python<'_>,
        letters: Py<Letters>,
        values: UintArray<'_>,
        specials: Vec<u64>,
    ) -> PyResult<Self> {
        let typed = typed!(values, Lookup, |values| raise(
            py,
            Lookup::new(values.as_slice()?, frame(&specials))
        )?);
        Self::new(letters, typed)
    }

    /// A token for each word of k letters; `like` is any array of the tokens' type.
    #[staticmethod]
    #[pyo3(signature = (letters, like, *, k, stride, canonical, first, specials))]
    fn kmers(
        py: Python<'_>,
        letters: Py<Letters>,
        like: UintArray<'_>,
        k: usize,
        stride: usize,
        canonical: bool,
        first: u64,
        specials: Vec<u64>,
    ) -> PyResult<Self> {
        let words = KmerWords::new(&letters.get().inner, k, stride, canonical);
        let words = raise(py, words)?;
        let typed = typed!(like, Kmers, |_like| Kmers {
            words,
            first,
            unknown: Word::cut(at(&specials, 1)),
            frame: frame(&specials),
        });
        Self::new(letters, typed)
    }

    /// How often each word occurs; `like` is any array of the counts' type.
    #[staticmethod]
    #[pyo3(signature = (letters, like, *, k, stride, canonical, is_float))]
    fn kmer_counts(
        py: Python<'_>,
        letters: Py<Letters>,
        like: UintArray<'_>,
        k: usize,
        stride: usize,
        canonical: bool,
        is_float: bool,
    ) -> PyResult<Self> {
        let words = KmerWords::new(&letters.get().inner, k, stride, canonical);
        let words = raise(py, words)?;
        let typed = typed!(like, KmerCounts, |_like| KmerCounts { words, is_float });
        Self::new(letters, typed)
    }

    /// How many letters the shortest and the longest sequence have; 0 and 0 if there is none.
    #[staticmethod]
    fn extremes(offsets: PyReadonlyArray1<'_, i64>) -> PyResult<(i64, i64)> {
        let offsets = offsets.as_slice()?;
        let pairs = offsets.iter().zip(offsets.iter().skip(1));
        let lengths = pairs.map(|(start, stop)| stop.saturating_sub(*start));
        let both = lengths.map(|length| (length, length));
        let wider = |(least, most): (i64, i64), (length, _): (i64, i64)| {
            (least.min(length), most.max(length))
        };
        Ok(both.reduce(wider).unwrap_or_default())
    }

    /// Writes each sequence into its row of `out`: equal rows, or those between `starts`.
    ///
    /// Says how many letters were met that are not plain: ambiguous, lower case, rare,
    /// symbols, stops taken as absent, U read as T, outside (always 0).
    #[pyo3(signature = (data, offsets, out, starts, threads))]
    fn fill<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray1<'py, u8>,
        offsets: PyReadonlyArray1<'py, i64>,
        out: Bound<'py, PyUntypedArray>,
        starts: Option<PyReadonlyArray1<'py, i64>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let starts = starts
            .as_ref()
            .map(|starts| starts.as_slice())
            .transpose()?;
        let call = FillCall {
            letters: &self.letters.get().inner,
            sequences: raise(py, Ragged::new(data.as_slice()?, offsets.as_slice()?))?,
            rows: starts.map_or(RowLayout::Equal, RowLayout::At),
            threads,
        };
        let counts = match &self.typed {
            ByWidth::One(kernel) => call.fill(&**kernel, &out),
            ByWidth::Two(kernel) => call.fill(&**kernel, &out),
            ByWidth::Four(kernel) => call.fill(&**kernel, &out),
            ByWidth::Eight(kernel) => call.fill(&**kernel, &out),
        }?;
        Ok(counts.to_vec().into_pyarray(py))
    }
}

impl SequenceKernel {
    /// Writes all sequences into equal rows of numbers, without the interpreter.
    pub(crate) fn write(
        &self,
        sequences: &Ragged<'_>,
        out: &mut PooledBytes,
    ) -> Result<LetterCounts> {
        let (letters, rows) = (&self.letters.get().inner, RowLayout::Equal);
        match &self.typed {
            ByWidth::One(kernel) => fill((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Two(kernel) => fill((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Four(kernel) => fill((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Eight(kernel) => fill((letters, &**kernel), sequences, out.numbers(), rows),
        }
    }

    /// The letters, and the kernel where its numbers have four bytes.
    pub(crate) fn of_four(&self) -> Option<(&seqloom_encode::LetterTable, &dyn RowKernel<u32>)> {
        match &self.typed {
            ByWidth::Four(kernel) => Some((&self.letters.get().inner, &**kernel)),
            _ => None,
        }
    }

    fn new(letters: Py<Letters>, typed: PyResult<ByWidth>) -> PyResult<Self> {
        typed.map(|typed| Self { letters, typed })
    }
}

/// The arguments of a call that do not depend on the type of the numbers.
struct FillCall<'a> {
    letters: &'a seqloom_encode::LetterTable,
    sequences: Ragged<'a>,
    rows: RowLayout<'a>,
    threads: usize,
}

impl FillCall<'_> {
    fn fill<T: Word + Element>(
        &self,
        kernel: &dyn RowKernel<T>,
        out: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<[i64; 7]> {
        let py = out.py();
        let out = out.cast::<PyArray1<T>>().map_err(|_| {
            let found = out.dtype();
            PyTypeError::new_err(format!("out has another type of numbers: {found}"))
        })?;
        let mut out = out.try_readwrite()?;
        let numbers = out.as_slice_mut()?;
        let work = || fill((self.letters, kernel), &self.sequences, numbers, self.rows);
        pool::run(py, self.threads, work).map(LetterCounts::to_array)
    }
}

/// Padding, then the tokens at both ends where there are any.
fn frame<T: Word>(specials: &[u64]) -> Frame<T> {
    let end = |position| specials.get(position).map(|bits| T::cut(*bits));
    Frame {
        pad: T::cut(at(specials, 0)),
        head: end(2),
        tail: end(3),
    }
}

fn at(specials: &[u64], position: usize) -> u64 {
    specials.get(position).copied().unwrap_or_default()
}
