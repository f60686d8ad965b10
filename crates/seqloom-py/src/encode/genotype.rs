//! Genotypes as two-bit codes.

use std::fmt::Display;

use numpy::{
    Element, PyArray2, PyArrayMethods, PyReadwriteArray2, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use seqloom_encode::genotype::Genotype;
use seqloom_encode::genotype::pack::{GenotypeMatrix, pack_genotypes};
use seqloom_macros::python_export;

use crate::pool;

/// Packs int8, float32 or float64 genotypes in C or Fortran order into `out`, an array
/// `(lines, bytes)` of two-bit codes. Each line of `out` is a row of genotypes, or a
/// column if `transposed`.
#[python_export]
#[pyo3(signature = (values, out, *, transposed, count_a1, threads))]
pub(crate) fn pack_codes(
    py: Python<'_>,
    values: &Bound<'_, PyUntypedArray>,
    out: PyReadwriteArray2<'_, u8>,
    transposed: bool,
    count_a1: bool,
    threads: usize,
) -> PyResult<()> {
    let how = (transposed, count_a1, threads);
    if let Ok(values) = values.cast::<PyArray2<i8>>() {
        pack_values(py, values, out, how)
    } else if let Ok(values) = values.cast::<PyArray2<f32>>() {
        pack_values(py, values, out, how)
    } else {
        pack_values(py, values.cast::<PyArray2<f64>>()?, out, how)
    }
}

fn pack_values<T: Genotype + Element + Display>(
    py: Python<'_>,
    values: &Bound<'_, PyArray2<T>>,
    mut out: PyReadwriteArray2<'_, u8>,
    (lines_are_columns, count_a1, threads): (bool, bool, usize),
) -> PyResult<()> {
    let shape = values.dims();
    let is_fortran = !values.is_c_contiguous();
    let values = values.try_readonly()?;
    let matrix = GenotypeMatrix {
        values: values.as_slice()?,
        shape: (shape[0], shape[1]),
        is_fortran,
        lines_are_columns,
    };
    let out = out.as_slice_mut()?;
    pool::run(py, threads, || pack_genotypes(matrix, count_a1, out))
}
