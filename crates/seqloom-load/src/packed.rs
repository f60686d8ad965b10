//! Packed batches from files: records are split into windows, tokenised, and
//! concatenated without padding.
//!
//! ```text
//! files         reads the records of several files
//! cut           splits a long record into windows
//! group         windows that are tokenised together
//! tokens        the interface of a tokeniser
//! pool          tokenised windows from which a batch is chosen
//! batch         the columns of one batch
//! resume        the position from which a stream resumes
//! stream        makes one batch after another
//! prefetch      makes batches in a separate thread
//! ```
//!
//! Two runs with the same records and settings produce the same batches in the same
//! order.

mod batch;
mod files;
mod group;
mod pool;
mod prefetch;
mod resume;
mod row;
mod stream;
mod tokens;
mod windows;

pub use batch::PackedBatch;
pub use files::{RecordFiles, SequenceFile};
pub use pool::WindowPool;
pub use prefetch::PrefetchedStream;
pub use resume::ResumePoint;
pub use row::{Origin, TokenRow};
pub use stream::{BatchStream, Cause, PackingFailure, PackingRule};
pub use tokens::{Tokenise, WindowTokens, tokenise_rows};
pub use windows::WindowCutter;

#[cfg(test)]
mod tests;
