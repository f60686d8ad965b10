//! Genotype counts, and the exact test of Hardy-Weinberg equilibrium.

use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use seqloom_core::Error;
use seqloom_encode::genotype::hardy;
use seqloom_load::genotype::stats::CodeCounter;
use seqloom_macros::python_export;

use super::bed_file::{BedFile, issue_warning};
use crate::{error, pool};

/// A pass over a `.bed` that counts genotypes, in several steps.
#[python_export(frozen)]
pub(crate) struct GenotypeSurvey {
    bed: Py<BedFile>,
    survey: Mutex<CodeCounter>,
}

#[python_export]
impl GenotypeSurvey {
    /// Prepares a pass over a file of this shape. `group` is the group index of each
    /// individual; an index beyond the last group means that the individual is in no
    /// group.
    #[new]
    fn new(
        py: Python<'_>,
        bed: Py<BedFile>,
        shape: (usize, usize),
        group: PyReadonlyArray1<'_, u8>,
        groups: usize,
    ) -> PyResult<Self> {
        let group = group.as_slice()?;
        let survey = pool::run(py, 1, || {
            let layout = bed.get().bed.layout(shape.0, shape.1)?;
            CodeCounter::new(
                layout,
                group.iter().map(|at| usize::from(*at)).collect(),
                groups,
            )
        })?;
        let survey = Mutex::new(survey);
        Ok(Self { bed, survey })
    }

    /// Adds the genotype counts of the next variants to `counts`, an array `(variants,
    /// groups, codes)`, and the number of missing genotypes of each individual to
    /// `missing`.
    fn advance(
        &self,
        py: Python<'_>,
        counts: &Bound<'_, PyArray3<u32>>,
        missing: &Bound<'_, PyArray1<u32>>,
        check: bool,
        threads: usize,
    ) -> PyResult<()> {
        let (mut counts, mut missing) = (counts.try_readwrite()?, missing.try_readwrite()?);
        let (counts, missing) = (counts.as_slice_mut()?, missing.as_slice_mut()?);
        let bed = &self.bed.get().bed;
        pool::run(py, threads, || {
            let mut survey = self.survey.lock().unwrap_or_else(PoisonError::into_inner);
            survey.count_next(bed, counts, missing, check)
        })?;
        issue_warning(py, bed)
    }
}

/// Fills `out` with the p-values of the exact test of Hardy-Weinberg equilibrium, for
/// rows of counts: homozygous A1, heterozygous, homozygous A2.
#[python_export]
pub(crate) fn hardy_p(
    py: Python<'_>,
    genotypes: PyReadonlyArray2<'_, u32>,
    out: &Bound<'_, PyArray1<f64>>,
    mid: bool,
    threads: usize,
) -> PyResult<()> {
    let (rows, rest) = genotypes.as_slice()?.as_chunks();
    let mut out = out.try_readwrite()?;
    let out = out.as_slice_mut()?;
    if !rest.is_empty() || rows.len() != out.len() {
        let message = "expected three counts for each p-value";
        return Err(error::exception_for(py, &Error::argument(message)));
    }
    pool::run(py, threads, || {
        hardy::exact_p_values(rows, mid, out);
        Ok(())
    })
}
