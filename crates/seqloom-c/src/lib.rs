//! The C interface to an exported model. `include/seqloom.h` declares the same
//! functions in C.
//!
//! Every function accepts null pointers, catches panics, and may be called from any
//! thread. Several threads may use a model at the same time. [`seqloom_last_error`]
//! returns the error of the last call in the calling thread.

#![expect(
    unsafe_code,
    reason = "C passes pointers; each function documents its requirements"
)]

mod array;
mod ffi;
mod model;
mod scores;

pub use array::{
    SEQLOOM_BOOL, SEQLOOM_FLOAT32, SEQLOOM_FLOAT64, SEQLOOM_INT32, SEQLOOM_INT64, SEQLOOM_UINT8,
    SEQLOOM_UINT32, SeqloomArray, SeqloomArrays, seqloom_arrays_count, seqloom_arrays_free,
    seqloom_arrays_get, seqloom_run,
};
pub use ffi::{seqloom_last_error, seqloom_last_warnings, seqloom_version};
pub use model::{SeqloomModel, seqloom_column, seqloom_columns, seqloom_free, seqloom_open};
pub use scores::{
    SeqloomRow, SeqloomScores, seqloom_predict, seqloom_score, seqloom_scores_columns,
    seqloom_scores_free, seqloom_scores_id, seqloom_scores_rows, seqloom_scores_values,
};
