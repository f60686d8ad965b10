//! Files to scores: a call for each record, or all of them in one array.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

use seqloom_run::{Error, PredictOptions, Result, Scores};

use crate::ffi::{borrow, borrow_slice, free, guard, into_pointer, path, warn};
use crate::model::SeqloomModel;

/// What is called for each record: `context` as it was given, the id, and its scores, which
/// live until it returns. 0 goes on; any other number ends the work.
pub type SeqloomRow = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        id: *const c_char,
        scores: *const f32,
        columns: usize,
    ) -> c_int,
>;

/// The scores of files.
pub struct SeqloomScores {
    ids: Vec<CString>,
    values: Vec<f32>,
    columns: usize,
}

/// Scores every record of files once, and calls `row` for each, in input order, on the thread
/// that called.
///
/// `files` are FASTA or FASTQ, plain or compressed; "-" is standard input; or one PLINK .bed. A
/// model of pairs takes two files for each: R1, R2. Returns 0, or -1 where something is wrong,
/// which `seqloom_last_error` says; what was ended by `row` is wrong too.
///
/// # Safety
///
/// `model` comes from `seqloom_open`, `files` are `count` texts that end in a zero, and `row`
/// takes what is said there; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_predict(
    model: *const SeqloomModel,
    files: *const *const c_char,
    count: usize,
    row: SeqloomRow,
    context: *mut c_void,
) -> c_int {
    guard(-1, || {
        let row = row.ok_or_else(|| Error::argument("row is null"))?;
        // SAFETY: the caller's promise.
        let (model, files) = unsafe { (borrow("model", model)?, paths(files, count)?) };
        let options = PredictOptions::default();
        warn(&[]);
        let summary = model.predictor.predict(&files, &options, |_, scores| {
            for (id, values) in scores.rows() {
                let id = name(id);
                // SAFETY: the caller's promise.
                let answer = unsafe { row(context, id.as_ptr(), values.as_ptr(), values.len()) };
                if answer != 0 {
                    return Err(Error::argument(format!(
                        "the row function returned {answer}"
                    )));
                }
            }
            Ok(())
        })?;
        warn(&summary.warnings);
        Ok(0)
    })
}

/// Does the same, and keeps all scores; null where something is wrong.
///
/// # Safety
///
/// As of `seqloom_predict`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_score(
    model: *const SeqloomModel,
    files: *const *const c_char,
    count: usize,
) -> *mut SeqloomScores {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller's promise.
        let (model, files) = unsafe { (borrow("model", model)?, paths(files, count)?) };
        let mut all = SeqloomScores {
            ids: Vec::new(),
            values: Vec::new(),
            columns: 0,
        };
        let options = PredictOptions::default();
        let add = |_: &[String], scores: &Scores| {
            all.columns = scores.columns;
            all.ids.extend(scores.names.iter().map(name));
            all.values.extend_from_slice(&scores.values);
            Ok(())
        };
        warn(&[]);
        let summary = model.predictor.predict(&files, &options, add)?;
        warn(&summary.warnings);
        Ok(into_pointer(all))
    })
}

/// Counts the records.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_rows(scores: *const SeqloomScores) -> usize {
    // SAFETY: the caller's promise.
    guard(0, || Ok(unsafe { borrow("scores", scores) }?.ids.len()))
}

/// Counts the scores of each record.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_columns(scores: *const SeqloomScores) -> usize {
    // SAFETY: the caller's promise.
    guard(0, || Ok(unsafe { borrow("scores", scores) }?.columns))
}

/// Gives the id of a record, from 0 on; null behind the last. It lives as long as the scores.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_id(
    scores: *const SeqloomScores,
    row: usize,
) -> *const c_char {
    guard(ptr::null(), || {
        // SAFETY: the caller's promise.
        let id = unsafe { borrow("scores", scores) }?.ids.get(row);
        Ok(id.map_or(ptr::null(), |id| id.as_ptr()))
    })
}

/// Gives all scores, row by row; they live as long as `scores`.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_values(scores: *const SeqloomScores) -> *const f32 {
    guard(ptr::null(), || {
        // SAFETY: the caller's promise.
        Ok(unsafe { borrow("scores", scores) }?.values.as_ptr())
    })
}

/// Frees scores; null is nothing.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_free(scores: *mut SeqloomScores) {
    // SAFETY: the caller's promise.
    unsafe { free(scores) }
}

/// The files that C has named.
///
/// # Safety
///
/// They are null, or `count` texts of C.
unsafe fn paths(files: *const *const c_char, count: usize) -> Result<Vec<PathBuf>> {
    // SAFETY: the caller's promise.
    let files = unsafe { borrow_slice("files", files, count) }?;
    // SAFETY: the caller's promise.
    let each = files.iter().map(|file| unsafe { path("a file", *file) });
    each.collect()
}

/// An id as a text of C, which ends at its first zero.
fn name(id: &[u8]) -> CString {
    let end = id.iter().position(|byte| *byte == 0).unwrap_or(id.len());
    CString::new(id.get(..end).unwrap_or_default()).unwrap_or_default()
}
