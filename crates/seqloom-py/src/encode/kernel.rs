//! Encoders, which convert sequences to arrays of any numeric type.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::{exceptions::PyTypeError, prelude::*};
use seqloom_core::{Ragged, Result};
use seqloom_encode::{
    AnyKernel, ElementBits, KmerCounts, KmerNumbering, Kmers, LetterCounts, Lookup, OneHot,
    RowKernel, RowLayout, TokenFrame, encode,
};
use seqloom_macros::python_export;

use super::letters::Letters;
use crate::{error::raise, pool, pooled::PooledBytes};

/// An encoding kernel for numbers of one, two, four or eight bytes.
enum ByWidth {
    One(Box<dyn RowKernel<u8>>),
    Two(Box<dyn RowKernel<u16>>),
    Four(Box<dyn RowKernel<u32>>),
    Eight(Box<dyn RowKernel<u64>>),
}

/// An array of unsigned integers that contain the bits of numbers of the same size.
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

/// Creates a kernel for the element type of an array.
macro_rules! typed_kernel {
    ($bits:expr, $kind:ident, |$numbers:ident| $kernel:expr) => {
        match $bits {
            UintArray::One($numbers) => {
                Ok(ByWidth::One(ElementBits::boxed(AnyKernel::$kind($kernel))))
            }
            UintArray::Two($numbers) => {
                Ok(ByWidth::Two(ElementBits::boxed(AnyKernel::$kind($kernel))))
            }
            UintArray::Four($numbers) => {
                Ok(ByWidth::Four(ElementBits::boxed(AnyKernel::$kind($kernel))))
            }
            UintArray::Eight($numbers) => Ok(ByWidth::Eight(ElementBits::boxed(AnyKernel::$kind(
                $kernel,
            )))),
        }
    };
}

/// A kernel that encodes sequences as numbers.
#[python_export(frozen)]
pub(crate) struct SequenceKernel {
    letters: Py<Letters>,
    typed: ByWidth,
}

#[python_export]
impl SequenceKernel {
    /// Creates a one-hot kernel with a channel for each residue of the alphabet; `rows`
    /// has the channel values of each of the 256 bytes.
    #[staticmethod]
    fn one_hot(
        py: Python<'_>,
        letters: Py<Letters>,
        rows: UintArray<'_>,
        channels_first: bool,
    ) -> PyResult<Self> {
        let known = &letters.get().inner;
        let typed = typed_kernel!(rows, OneHot, |rows| raise(
            py,
            OneHot::new(known, rows.as_slice()?.to_vec(), channels_first)
        )?);
        Self::new(letters, typed)
    }

    /// Creates a kernel that encodes each residue as an integer token. `specials` are
    /// the padding token and the unknown token, and optionally the tokens at the start
    /// and at the end.
    #[staticmethod]
    fn lookup(
        py: Python<'_>,
        letters: Py<Letters>,
        values: UintArray<'_>,
        specials: Vec<u64>,
    ) -> PyResult<Self> {
        let typed = typed_kernel!(values, Lookup, |values| raise(
            py,
            Lookup::new(values.as_slice()?, token_frame(&specials))
        )?);
        Self::new(letters, typed)
    }

    /// Creates a kernel that encodes each k-mer as a token; the output has the element
    /// type of the array `like`.
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
        let words = KmerNumbering::new(&letters.get().inner, k, stride, canonical);
        let words = raise(py, words)?;
        let typed = typed_kernel!(like, Kmers, |_like| Kmers {
            words,
            first,
            unknown: ElementBits::from_bits(special_token(&specials, 1)),
            frame: token_frame(&specials),
        });
        Self::new(letters, typed)
    }

    /// Creates a kernel that counts each k-mer; the output has the element type of the
    /// array `like`.
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
        let words = KmerNumbering::new(&letters.get().inner, k, stride, canonical);
        let words = raise(py, words)?;
        let typed = typed_kernel!(like, KmerCounts, |_like| KmerCounts { words, is_float });
        Self::new(letters, typed)
    }

    /// Returns the lengths of the shortest and the longest sequence, or 0 and 0 if
    /// there are no sequences.
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

    /// Encodes each sequence into one row of `out`; the rows have equal size or, if
    /// `starts` is given, begin at these offsets.
    ///
    /// Returns counts of unusual residues: ambiguous, lower case, rare, symbols,
    /// removed stops, U read as T, outside the alphabet (always 0).
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
    /// Encodes all sequences into rows of equal size, without the GIL.
    pub(crate) fn write(
        &self,
        sequences: &Ragged<'_>,
        out: &mut PooledBytes,
    ) -> Result<LetterCounts> {
        let (letters, rows) = (&self.letters.get().inner, RowLayout::Equal);
        match &self.typed {
            ByWidth::One(kernel) => encode((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Two(kernel) => encode((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Four(kernel) => encode((letters, &**kernel), sequences, out.numbers(), rows),
            ByWidth::Eight(kernel) => encode((letters, &**kernel), sequences, out.numbers(), rows),
        }
    }

    /// Returns the residue table and the kernel, or `None` if the kernel's numbers do
    /// not have four bytes.
    pub(crate) fn four_byte_kernel(
        &self,
    ) -> Option<(&seqloom_encode::LetterTable, &dyn RowKernel<u32>)> {
        match &self.typed {
            ByWidth::Four(kernel) => Some((&self.letters.get().inner, &**kernel)),
            _ => None,
        }
    }

    fn new(letters: Py<Letters>, typed: PyResult<ByWidth>) -> PyResult<Self> {
        typed.map(|typed| Self { letters, typed })
    }
}

/// The arguments of an encoding call that do not depend on the element type.
struct FillCall<'a> {
    letters: &'a seqloom_encode::LetterTable,
    sequences: Ragged<'a>,
    rows: RowLayout<'a>,
    threads: usize,
}

impl FillCall<'_> {
    fn fill<T: ElementBits + Element>(
        &self,
        kernel: &dyn RowKernel<T>,
        out: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<[i64; 7]> {
        let py = out.py();
        let out = out.cast::<PyArray1<T>>().map_err(|_| {
            let found = out.dtype();
            PyTypeError::new_err(format!("out has the wrong element type: {found}"))
        })?;
        let mut out = out.try_readwrite()?;
        let numbers = out.as_slice_mut()?;
        let work = || encode((self.letters, kernel), &self.sequences, numbers, self.rows);
        pool::run(py, self.threads, work).map(LetterCounts::to_array)
    }
}

/// Returns the padding token and, if given, the start and end tokens.
fn token_frame<T: ElementBits>(specials: &[u64]) -> TokenFrame<T> {
    let end = |position| specials.get(position).map(|bits| T::from_bits(*bits));
    TokenFrame {
        pad: T::from_bits(special_token(specials, 0)),
        head: end(2),
        tail: end(3),
    }
}

fn special_token(specials: &[u64], position: usize) -> u64 {
    specials.get(position).copied().unwrap_or_default()
}
