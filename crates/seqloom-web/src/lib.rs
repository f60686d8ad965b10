//! An exported model in a browser: scores, and the importance of positions.
//!
//! A page (`web/`) gives the bytes of an export and of a file of sequences, and gets facts,
//! scores and importances back. The module is compiled for `wasm32-unknown-unknown`, has one
//! thread, and asks its host for three things only:
//!
//! ```text
//! page ── open, predict, look ──> bindings ──> session ──> seqloom-run ──> seqloom-graph
//! page <── read, rows, progress ──── host <──────┘
//! ```
//!
//! The page and the module share two buffers that the module owns (see [`bindings`]). The page passes no pointer,
//! so that nothing here reads memory that it does not own.

pub mod bindings;
mod facts;
pub mod host;
mod occlusion;
mod record;
pub mod session;
mod table;
