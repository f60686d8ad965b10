//! Signal tracks: numbers along the sequences of a genome.
//!
//! [`BigWig`] reads any range of a bigWig file (Kent et al., 2010). [`BedGraph`] reads text
//! into memory. [`fetch`] reads ranges of several tracks at once, at base resolution or in
//! bins, and [`BigWigWriter`] writes bigWig files. [`Fragments`] counts the ends of
//! sequenced fragments.

#![deny(clippy::indexing_slicing)] // numbers in a file are not trusted as indices

mod bedgraph;
mod bigwig;
mod block;
mod bytes;
mod fetch;
mod fragments;
mod index;
mod track;
mod write;
mod zoom;

pub use bedgraph::BedGraph;
pub use bigwig::BigWig;
pub use fetch::{Bins, Missing, Reduction, Span, fetch};
pub use fragments::{ContigEnds, EndRules, FragmentTally, Fragments};
pub use track::{Contig, Entries, Track};
pub use write::BigWigWriter;
