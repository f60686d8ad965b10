//! Scores files, with a callback for each record or into one array.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

use seqloom_run::{Error, PredictOptions, Result, Scores};

use crate::ffi::{
    borrow, borrow_slice, catch_errors, free_pointer, into_pointer, store_warnings, to_path,
};
use crate::model::SeqloomModel;

/// A callback that receives `context`, and the id and scores of one record. The id and
/// scores are valid until the callback returns. The callback returns 0 to continue with
/// the next record, or any other number to stop.
pub type SeqloomRow = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        id: *const c_char,
        scores: *const f32,
        columns: usize,
    ) -> c_int,
>;

/// The ids and scores of all records in the scored files.
pub struct SeqloomScores {
    ids: Vec<CString>,
    values: Vec<f32>,
    columns: usize,
}

/// Scores every record of the files once, in input order, and calls `row` for each
/// record in the calling thread.
///
/// `files` are FASTA or FASTQ files, plain or compressed; "-" for standard input; or
/// one PLINK .bed. A model of read pairs needs two files for each sample: R1, R2.
/// Returns 0 on success, and -1 on failure or if `row` stopped the work;
/// `seqloom_last_error` then returns the reason.
///
/// # Safety
///
/// `model` comes from `seqloom_open`, `files` points to `count` zero-terminated
/// strings, and `row` has the declared arguments. If one of these pointers is null, the
/// call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_predict(
    model: *const SeqloomModel,
    files: *const *const c_char,
    count: usize,
    row: SeqloomRow,
    context: *mut c_void,
) -> c_int {
    catch_errors(-1, || {
        let row = row.ok_or_else(|| Error::argument("row is null"))?;
        // SAFETY: the caller guarantees valid pointers.
        let (model, files) = unsafe { (borrow("model", model)?, borrow_paths(files, count)?) };
        let options = PredictOptions::default();
        store_warnings(&[]);
        let summary = model.predictor.predict(&files, &options, |_, scores| {
            for (id, values) in scores.rows() {
                let id = id_to_c_string(id);
                // SAFETY: the caller guarantees valid pointers.
                let answer = unsafe { row(context, id.as_ptr(), values.as_ptr(), values.len()) };
                if answer != 0 {
                    return Err(Error::argument(format!(
                        "the row function returned {answer}"
                    )));
                }
            }
            Ok(())
        })?;
        store_warnings(&summary.warnings);
        Ok(0)
    })
}

/// Scores every record of the files once, and returns all scores, or null on failure.
///
/// # Safety
///
/// As for `seqloom_predict`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_score(
    model: *const SeqloomModel,
    files: *const *const c_char,
    count: usize,
) -> *mut SeqloomScores {
    catch_errors(ptr::null_mut(), || {
        // SAFETY: the caller guarantees valid pointers.
        let (model, files) = unsafe { (borrow("model", model)?, borrow_paths(files, count)?) };
        let mut all = SeqloomScores {
            ids: Vec::new(),
            values: Vec::new(),
            columns: 0,
        };
        let options = PredictOptions::default();
        let add = |_: &[String], scores: &Scores| {
            all.columns = scores.columns;
            all.ids.extend(scores.names.iter().map(id_to_c_string));
            all.values.extend_from_slice(&scores.values);
            Ok(())
        };
        store_warnings(&[]);
        let summary = model.predictor.predict(&files, &options, add)?;
        store_warnings(&summary.warnings);
        Ok(into_pointer(all))
    })
}

/// Returns the number of records.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_rows(scores: *const SeqloomScores) -> usize {
    // SAFETY: the caller guarantees valid pointers.
    catch_errors(0, || Ok(unsafe { borrow("scores", scores) }?.ids.len()))
}

/// Returns the number of scores of each record.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_columns(scores: *const SeqloomScores) -> usize {
    // SAFETY: the caller guarantees valid pointers.
    catch_errors(0, || Ok(unsafe { borrow("scores", scores) }?.columns))
}

/// Returns the id of the record at a zero-based index, or null if the index is too
/// large. The string is valid until `scores` is freed.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_id(
    scores: *const SeqloomScores,
    row: usize,
) -> *const c_char {
    catch_errors(ptr::null(), || {
        // SAFETY: the caller guarantees valid pointers.
        let id = unsafe { borrow("scores", scores) }?.ids.get(row);
        Ok(id.map_or(ptr::null(), |id| id.as_ptr()))
    })
}

/// Returns all scores, row by row. The array is valid until `scores` is freed.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_values(scores: *const SeqloomScores) -> *const f32 {
    catch_errors(ptr::null(), || {
        // SAFETY: the caller guarantees valid pointers.
        Ok(unsafe { borrow("scores", scores) }?.values.as_ptr())
    })
}

/// Frees scores; null has no effect.
///
/// # Safety
///
/// `scores` is null, or comes from `seqloom_score` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seqloom_scores_free(scores: *mut SeqloomScores) {
    // SAFETY: the caller guarantees valid pointers.
    unsafe { free_pointer(scores) }
}

/// Returns the paths of files.
///
/// # Safety
///
/// The pointer is null, or points to `count` C strings.
unsafe fn borrow_paths(files: *const *const c_char, count: usize) -> Result<Vec<PathBuf>> {
    // SAFETY: the caller guarantees valid pointers.
    let files = unsafe { borrow_slice("files", files, count) }?;
    // SAFETY: the caller guarantees valid pointers.
    let each = files.iter().map(|file| unsafe { to_path("a file", *file) });
    each.collect()
}

/// Returns an id as a C string, which ends at its first zero.
fn id_to_c_string(id: &[u8]) -> CString {
    let end = id.iter().position(|byte| *byte == 0).unwrap_or(id.len());
    CString::new(id.get(..end).unwrap_or_default()).unwrap_or_default()
}
