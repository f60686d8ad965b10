//! Counts of residues and qualities by position.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use seqloom_core::Ragged;
use seqloom_macros::python_export;
use seqloom_sequences::profile::{Profile, QUALITY_COLUMNS, RESIDUE_COLUMNS};

use crate::pool;

/// Counts residues and qualities by position, in bins that become wider for longer
/// sequences.
#[python_export]
pub(crate) struct SequenceProfile {
    profile: Profile,
}

#[python_export]
impl SequenceProfile {
    #[new]
    fn new() -> Self {
        Self {
            profile: Profile::default(),
        }
    }

    /// Counts the residues of sequences.
    fn add(
        &mut self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        pool::run(py, 1, || {
            self.profile.add_sequences(&Ragged::new(data, offsets)?);
            Ok(())
        })
    }

    /// Counts quality characters.
    fn add_qualities(
        &mut self,
        py: Python<'_>,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let (data, offsets) = (data.as_slice()?, offsets.as_slice()?);
        pool::run(py, 1, || {
            self.profile.add_qualities(&Ragged::new(data, offsets)?)
        })
    }

    /// Returns the number of positions of a bin.
    #[getter]
    fn width(&self) -> usize {
        self.profile.bin_width()
    }

    /// Returns the counts of residues in each bin, with shape (bins, 32). Columns 1 to
    /// 26 count A to Z regardless of case, and column 0 counts other characters.
    #[getter]
    fn letters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let rows = self.profile.residue_counts().len();
        let flat = self.profile.residue_counts().concat();
        flat.into_pyarray(py).reshape([rows, RESIDUE_COLUMNS])
    }

    /// Returns the counts of quality characters in each bin, with shape (bins, 128).
    #[getter]
    fn qualities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let rows = self.profile.quality_counts().len();
        let flat = self.profile.quality_counts().concat();
        flat.into_pyarray(py).reshape([rows, QUALITY_COLUMNS])
    }

    /// Returns the number of sequences for each mean quality character, with shape
    /// (128,).
    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.profile.mean_quality_counts().to_vec().into_pyarray(py)
    }
}
