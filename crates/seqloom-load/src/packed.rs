//! Records of files as packed batches: read, cut into windows, turned into tokens, and put end
//! to end in rows without padding.
//!
//! ```text
//! files         records of files, one file after the other, as columns
//! cut           a long record as windows, and which letters of each a merge keeps
//! group         some windows, which are turned into tokens together
//! pool          windows that wait, and which of them go together
//! batch         the columns of one batch
//! resume        where a stream is, so that it can be resumed
//! stream        all of it, one batch after the other
//! prefetch      the same in a separate thread
//! ```
//!
//! No step depends on time: the order of batches follows from the records and the settings.

mod batch;
mod cut;
mod files;
mod group;
mod pool;
mod prefetch;
mod resume;
mod row;
mod stream;
mod tokens;

pub use batch::PackedBatch;
pub use cut::WindowCutter;
pub use files::{RecordFiles, SequenceFile};
pub use pool::WindowPool;
pub use prefetch::PrefetchedStream;
pub use resume::ResumePoint;
pub use row::{Origin, TokenRow};
pub use stream::{BatchStream, Cause, PackingFailure, PackingRule};
pub use tokens::{Tokenise, WindowTokens, fill_rows};

#[cfg(test)]
mod tests;
