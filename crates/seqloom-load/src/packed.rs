//! Records of files as packed batches: read, cut into windows, turned into tokens, and put end
//! to end in rows without padding.
//!
//! ```text
//! files    records of files, one file after the other, as columns
//! cut      a long record as windows, and which letters of each a merge keeps
//! group    some windows, which are turned into tokens together
//! pool     windows that wait, and which of them go together
//! batch    the columns of one batch
//! place    how far a stream is, and going on from there
//! stream   all of it, one batch after the other
//! ahead    the same in a thread of its own
//! ```
//!
//! No step depends on time: the order of batches follows from the records and the settings.

mod ahead;
mod batch;
mod cut;
mod files;
mod group;
mod place;
mod pool;
mod row;
mod stream;
mod tokens;

pub use ahead::Ahead;
pub use batch::Packed;
pub use cut::Cut;
pub use files::{Files, Input};
pub use place::Place;
pub use pool::Pool;
pub use row::{Origin, Row};
pub use stream::{Cause, Failure, Rule, Stream};
pub use tokens::{Tokenise, Tokens, fill_rows};

#[cfg(test)]
mod tests;
