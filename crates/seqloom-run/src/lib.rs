//! Scores the records of files with an exported model, without Python.
//!
//! ```text
//! files ── read, check, sort, encode ──> batches ── graph ──> outputs ── task ──> scores
//!          (sequences)                              (network)            (task)
//! ```
//!
//! A [`Predictor`] is created from an exported model. A predictor uses the same
//! parsers, encoders and batches as training, so scores are bitwise equal to those in
//! Python. The command `seqloom-run` and the C interface (`seqloom-c`) are built on
//! this type.

mod array;
mod column;
mod encoder;
mod feed;
#[cfg_attr(not(feature = "genotypes"), path = "genotypes/left_out.rs")]
mod genotypes;
mod input_warnings;
mod json;
mod network;
mod predictor;
mod scores;
mod sequences;
mod task;
mod text;
mod write;

pub use column::ByteRows;
pub use encoder::Encoder;
pub use predictor::{PredictOptions, PredictionObserver, Predictor, Summary};
pub use scores::Scores;
pub use seqloom_core::{Error, Result};
pub use seqloom_graph as graph;
pub use text::format_thousands;
pub use write::{ScoreFormat, ScoreWriter, write_number};
