//! Normal forms of alleles, and sequences around variants.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray2};
use pyo3::prelude::*;
use seqloom_core::{Error, Ragged};
use seqloom_macros::python_export;
use seqloom_variants::genome::Genome;
use seqloom_variants::normalise::{Records, ResolveOptions, resolve};
use seqloom_variants::window::{WindowOptions, fill_windows};

use super::{columns::RowArrays, index::SequenceIndex};
use crate::error::raise;
use crate::pool;

type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Numbers<'py> = PyReadonlyArray1<'py, i64>;
/// The number of the contig and the start of each record.
type Positions<'py> = (PyReadonlyArray1<'py, i32>, Numbers<'py>);
/// Concatenated alleles, and their offsets.
type Texts<'py> = (Bytes<'py>, Numbers<'py>);

/// The columns of a table of alleles, and the flags of the records.
type AlleleArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    RowArrays<'py>,
    RowArrays<'py>,
    Bound<'py, PyArray1<u16>>,
);

fn to_records<'a>(
    py: Python<'_>,
    positions: &'a Positions<'_>,
    (refs, alts): (&'a Texts<'_>, &'a Texts<'_>),
) -> PyResult<Records<'a>> {
    let to_ragged = |texts: &'a Texts<'_>| -> PyResult<Ragged<'a>> {
        raise(py, Ragged::new(texts.0.as_slice()?, texts.1.as_slice()?))
    };
    Ok(Records {
        contigs: positions.0.as_slice()?,
        starts: positions.1.as_slice()?,
        references: to_ragged(refs)?,
        alternatives: to_ragged(alts)?,
    })
}

/// Compares records with the genome. Returns a table of alleles in normal form (record,
/// number of the ALT, status, start, reference, alternative), and flags for each record.
#[python_export]
pub(crate) fn resolve_alleles<'py>(
    py: Python<'py>,
    genome: &SequenceIndex,
    lengths: Numbers<'py>,
    positions: Positions<'py>,
    refs: Texts<'py>,
    alts: Texts<'py>,
    swap: bool,
    split_mnps: bool,
) -> PyResult<AlleleArrays<'py>> {
    let (index, lengths) = (&genome.index, lengths.as_slice()?);
    let records = to_records(py, &positions, (&refs, &alts))?;
    let table = pool::run(py, 1, || {
        let options = ResolveOptions { swap, split_mnps };
        resolve(&mut Genome::new(index, lengths), records, options)
    })?;
    let rows =
        |(data, offsets): (Vec<u8>, Vec<i64>)| (data.into_pyarray(py), offsets.into_pyarray(py));
    Ok((
        table.records.into_pyarray(py),
        table.alternatives.into_pyarray(py),
        table.status.into_pyarray(py),
        table.starts.into_pyarray(py),
        rows(table.references),
        rows(table.others),
        table.flags.into_pyarray(py),
    ))
}

/// Fills `out` with the sequences around variants, with the reference or the alternative
/// allele. `place` is the number of bases before the variant, and the width of the
/// reference window. `limits` are the first position of each row that is not masked,
/// and the position after the last one.
#[python_export]
pub(crate) fn variant_windows<'py>(
    py: Python<'py>,
    genome: &SequenceIndex,
    lengths: Numbers<'py>,
    positions: Positions<'py>,
    refs: Texts<'py>,
    alts: Texts<'py>,
    limits: Option<(Numbers<'py>, Numbers<'py>)>,
    place: (i64, i64),
    is_right_anchored: bool,
    is_alternative: bool,
    mut out: PyReadwriteArray2<'py, u8>,
) -> PyResult<()> {
    let (index, lengths) = (&genome.index, lengths.as_slice()?);
    let records = to_records(py, &positions, (&refs, &alts))?;
    let limits = match &limits {
        Some((lower, upper)) => Some((lower.as_slice()?, upper.as_slice()?)),
        None => None,
    };
    let options = WindowOptions {
        left: place.0,
        width: place.1,
        columns: out.as_array().ncols(),
        is_right_anchored,
        is_alternative,
    };
    let out = out.as_slice_mut()?;
    pool::run(py, 1, || {
        if options.left.abs() > i64::from(i32::MAX) || options.width > i64::from(i32::MAX) {
            return Err(Error::argument("windows must have fewer than 2**31 bases"));
        }
        fill_windows(
            &mut Genome::new(index, lengths),
            records,
            limits,
            options,
            out,
        )
    })
}
