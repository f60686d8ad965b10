//! Tables that define how an encoder reads each byte of a sequence.

use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::{prelude::*, types::PyBytes};
use seqloom_core::Ragged;
use seqloom_encode::one_hot::{self, OneHotLayout};
use seqloom_encode::{self as encode, Policy};
use seqloom_macros::python_export;

use crate::{error, pool};

/// A table that classifies each of the 256 bytes as a residue, an ambiguity code or
/// invalid.
#[python_export(frozen)]
pub(crate) struct Letters {
    pub(super) inner: encode::LetterTable,
}

#[python_export]
impl Letters {
    /// Creates the table of an alphabet; `codes` allows ambiguity codes.
    #[new]
    #[pyo3(signature = (alphabet, *, codes, case, rna_as_dna, rare, symbols))]
    fn new(
        py: Python<'_>,
        alphabet: &str,
        codes: bool,
        case: &str,
        rna_as_dna: bool,
        rare: &str,
        symbols: &str,
    ) -> PyResult<Self> {
        let policy = || {
            Ok(Policy {
                codes,
                case: case.parse()?,
                rna_as_dna,
                rare: rare.parse()?,
                symbols: symbols.parse()?,
            })
        };
        let made = policy().and_then(|policy| encode::LetterTable::new(alphabet, policy));
        let inner = error::raise(py, made)?;
        Ok(Self { inner })
    }

    /// Creates a table that allows the bytes from `first` to `last`.
    #[staticmethod]
    fn range(first: u8, last: u8, expected: &str) -> Self {
        let inner = encode::LetterTable::range(first, last, expected);
        Self { inner }
    }

    /// The residues of the alphabet, in order.
    #[getter]
    fn members(&self) -> String {
        String::from_utf8_lossy(self.inner.residues()).into_owned()
    }

    /// The ambiguity codes, each with the residues that it represents.
    #[getter]
    fn ambiguities(&self) -> Vec<(String, String)> {
        let text = |letters: &[u8]| String::from_utf8_lossy(letters).into_owned();
        let pairs = self.inner.ambiguities().iter();
        pairs
            .map(|(code, members)| (text(&[*code]), text(members)))
            .collect()
    }

    /// The normal form of each byte: a residue, an ambiguity code, or 0.
    #[getter]
    fn normal<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.residue_by_byte())
    }

    /// The characters that are not allowed in a sequence.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.rejected_bytes())
    }

    /// True if one `*` at the end of a sequence is removed.
    #[getter]
    fn strips(&self) -> bool {
        self.inner.strips_stop()
    }

    /// Returns the index of the first sequence with an invalid character, or None.
    fn refused_row(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Option<usize>> {
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        pool::run(py, 1, || {
            Ok(self.inner.first_rejected_row(&Ragged::new(data, offsets)?))
        })
    }

    /// Returns the residues of each row of a one-hot array.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        array: PyReadonlyArray3<'py, f32>,
        channels_first: bool,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let shape = array.shape();
        let layout = OneHotLayout::new(std::array::from_fn(|axis| shape[axis]), channels_first);
        let numbers = array.as_slice()?;
        let rows = pool::run(py, 1, || one_hot::decode(&self.inner, numbers, layout))?;
        Ok(rows.iter().map(|row| PyBytes::new(py, row)).collect())
    }
}
