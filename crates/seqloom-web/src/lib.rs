//! An exported model in a browser: scores, and the importance of positions.
//!
//! A page (`web/`) passes the bytes of an export and of a sequence file. The module
//! returns a description of the model, scores and importances. The module is compiled
//! for `wasm32-unknown-unknown` and has one thread. The module calls three functions of
//! its host:
//!
//! ```text
//! page ── open, predict, look ──> bindings ──> session ──> seqloom-run ──> seqloom-graph
//! page <── read, rows, progress ──── host <──────┘
//! ```
//!
//! The page and the module share two buffers, which the module owns (see [`bindings`]). The page
//! passes no pointers, so the module reads only memory that it owns.

pub mod bindings;
mod facts;
pub mod host;
mod occlusion;
mod record;
pub mod session;
mod table;
