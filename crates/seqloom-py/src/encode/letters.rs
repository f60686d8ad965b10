//! What each byte means to an encoder.

use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seqloom_core::Ragged;
use seqloom_encode::one_hot::{self, OneHotLayout};
use seqloom_encode::{self as encode, Policy};
use seqloom_macros::native;

use crate::{error, pool};

/// What each of the 256 bytes means under a declared policy.
#[native(frozen)]
pub(crate) struct Letters {
    pub(super) inner: encode::LetterTable,
}

#[native]
impl Letters {
    /// The letters of an alphabet; `codes` says whether ambiguity codes are taken.
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

    /// Every byte from `first` to `last`, and no other.
    #[staticmethod]
    fn range(first: u8, last: u8, expected: &str) -> Self {
        let inner = encode::LetterTable::range(first, last, expected);
        Self { inner }
    }

    /// The members, in order.
    #[getter]
    fn members(&self) -> String {
        String::from_utf8_lossy(self.inner.members()).into_owned()
    }

    /// Each ambiguity code with the members that it stands for.
    #[getter]
    fn ambiguities(&self) -> Vec<(String, String)> {
        let text = |letters: &[u8]| String::from_utf8_lossy(letters).into_owned();
        let pairs = self.inner.ambiguities().iter();
        pairs
            .map(|(code, members)| (text(&[*code]), text(members)))
            .collect()
    }

    /// What each byte counts as: a member, an ambiguity code, or 0.
    #[getter]
    fn normal<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.normal())
    }

    /// The bytes that are refused.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.refused())
    }

    /// Whether one `*` at the end of a sequence is taken as absent.
    #[getter]
    fn strips(&self) -> bool {
        self.inner.strips()
    }

    /// The first sequence with a letter that is refused; None where there is none.
    fn refused_row(
        &self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Option<usize>> {
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        pool::run(py, 1, || {
            Ok(self.inner.refused_row(&Ragged::new(data, offsets)?))
        })
    }

    /// The letters of each row of a one-hot array.
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
