//! Reads ranges of several tracks, at base resolution or in bins.

use rayon::prelude::*;
use seqloom_core::error::{Error, Fault, Result};

use crate::block::BlockBuffer;
use crate::track::Track;

/// The contig and the start of a range; [`Bins`] has its length. Positions outside of the
/// contig have the value of a base that is missing in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The index of the contig in the list of the caller.
    pub contig: usize,
    /// The first position, zero-based; it may be negative.
    pub start: i64,
}

/// The number that replaces the values of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The mean.
    Mean,
    /// The sum.
    Sum,
    /// The maximum.
    Max,
}

/// The value of bases that are missing in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// NaN; reductions leave missing bases out.
    Nan,
    /// Zero; reductions include missing bases.
    Zero,
    /// An error.
    Error,
}

/// The bins of each span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    /// The number of bins of a span.
    pub count: usize,
    /// The number of bases of a bin.
    pub width: usize,
    /// The number that replaces the values of a bin.
    pub reduction: Reduction,
    /// The value of missing bases.
    pub missing: Missing,
}

/// The spans that a thread reads from one track: the number of a span, and its values.
type Task<'a> = (usize, Vec<(usize, &'a mut [f32])>);

/// Fills `out`, an array `(spans, tracks, bins)`. `contigs` has, for each track, the index
/// in the track of each contig of the caller. Several threads need a current thread pool.
#[expect(
    clippy::too_many_arguments,
    reason = "the caller has each of these separately"
)]
pub fn fetch(
    tracks: &[&Track],
    contigs: &[Vec<Option<usize>>],
    spans: &[Span],
    bins: &Bins,
    out: &mut [f32],
    threads: usize,
) -> Result<()> {
    let rows = spans.len() * tracks.len();
    if bins.width == 0 || contigs.len() != tracks.len() || out.len() != rows * bins.count {
        return Err(Error::argument(
            "the numbers of spans, tracks, bins and values differ",
        ));
    }
    if out.is_empty() {
        return Ok(());
    }
    // Threads read neighbouring spans, which share blocks.
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|row| spans.get(*row).map(|span| (span.contig, span.start)));
    let mut parts: Vec<Option<&mut [f32]>> = out.chunks_exact_mut(bins.count).map(Some).collect();
    let size = spans.len().div_ceil(threads.max(1));
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for part in order.chunks(size.max(1)) {
        for number in 0..tracks.len() {
            let values = part.iter().filter_map(|row| {
                let values = parts.get_mut(row * tracks.len() + number)?;
                Some((*row, values.take()?))
            });
            tasks.push((number, values.collect()));
        }
    }
    let run = |(number, rows): Task<'_>| {
        let (Some(track), Some(contigs)) = (tracks.get(number), contigs.get(number)) else {
            return Ok(());
        };
        let mut painter = Painter::new(track, contigs, bins);
        rows.into_iter().try_for_each(|(row, values)| {
            let span = spans.get(row).copied();
            span.map_or(Ok(()), |span| painter.fill(span, values))
        })
    };
    if threads > 1 && rayon::current_thread_index().is_some() {
        tasks.into_par_iter().try_for_each(run)
    } else {
        tasks.into_iter().try_for_each(run)
    }
}

/// Reads spans of one track.
struct Painter<'a> {
    track: &'a Track,
    contigs: &'a [Option<usize>],
    bins: &'a Bins,
    buffer: BlockBuffer,
    /// The value of each base of a span, if a bin has several bases.
    bases: Vec<f32>,
}

impl<'a> Painter<'a> {
    fn new(track: &'a Track, contigs: &'a [Option<usize>], bins: &'a Bins) -> Self {
        Self {
            track,
            contigs,
            bins,
            buffer: BlockBuffer::default(),
            bases: Vec::new(),
        }
    }

    fn fill(&mut self, span: Span, values: &mut [f32]) -> Result<()> {
        if self.bins.width == 1 {
            return self.paint(span, values);
        }
        let mut bases = std::mem::take(&mut self.bases);
        bases.resize(self.bins.count * self.bins.width, f32::NAN);
        let painted = self.paint(span, &mut bases);
        let chunks = bases.chunks_exact(self.bins.width);
        for (value, chunk) in values.iter_mut().zip(chunks) {
            *value = reduce(chunk, self.bins.reduction);
        }
        self.bases = bases;
        painted
    }

    /// Writes the value of each base of a span.
    fn paint(&mut self, span: Span, bases: &mut [f32]) -> Result<()> {
        let is_zero = self.bins.missing == Missing::Zero;
        bases.fill(if is_zero { 0.0 } else { f32::NAN });
        let contig = self.contigs.get(span.contig).copied().flatten();
        if let Some(contig) = contig {
            self.paint_contig(contig, span.start, bases)?;
        }
        let absent = bases.iter().position(|it| it.is_nan());
        match absent.filter(|_| self.bins.missing == Missing::Error) {
            Some(offset) => Err(self.missing_error(contig, span.start, offset)),
            None => Ok(()),
        }
    }

    /// Writes the values of bases within a contig.
    fn paint_contig(&mut self, contig: usize, start: i64, bases: &mut [f32]) -> Result<()> {
        let length = self.track.contigs().get(contig).and_then(|it| it.length);
        let limit = i64::from(length.unwrap_or(u32::MAX));
        let width = i64::try_from(bases.len()).unwrap_or(i64::MAX);
        let (first, last) = (start.max(0), start.saturating_add(width).min(limit));
        if first >= last {
            return Ok(());
        }
        let to_position = |position: i64| u32::try_from(position).unwrap_or(u32::MAX);
        let (low, high) = (to_position(first), to_position(last));
        let to_index = |at: u32| {
            let at = i64::from(at.clamp(low, high)) - start;
            usize::try_from(at).unwrap_or_default()
        };
        let is_zero = self.bins.missing == Missing::Zero;
        let mut paint = |start: u32, stop: u32, value: f32| {
            let range = to_index(start)..to_index(stop);
            let is_missing = is_zero && value.is_nan();
            if let Some(part) = bases.get_mut(range).filter(|_| !is_missing) {
                part.fill(value);
            }
        };
        self.track
            .visit(contig, low, high, &mut self.buffer, &mut paint)
    }

    /// Returns the error for a base without a value.
    fn missing_error(&self, contig: Option<usize>, start: i64, offset: usize) -> Error {
        let at = start.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX));
        let contigs = self.track.contigs();
        let name = contig.and_then(|contig| contigs.get(contig));
        let name = name.map_or("a contig that the file lacks", |it| it.name.as_str());
        let message = format!(
            "position {at} of {name} has no value; pass missing=0 if absent values are 0, or \
             missing=\"nan\""
        );
        Error::format(self.track.path(), Fault::of_file(message))
    }
}

/// Reduces the values of a bin; NaN is left out.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a bin has fewer than 2^53 bases, and values have 32 bits"
)]
fn reduce(values: &[f32], reduction: Reduction) -> f32 {
    let present = || values.iter().filter(|value| !value.is_nan());
    let count = present().count();
    if count == 0 {
        return f32::NAN;
    }
    if reduction == Reduction::Max {
        return present().copied().fold(f32::NEG_INFINITY, f32::max);
    }
    let sum: f64 = present().map(|value| f64::from(*value)).sum();
    let divisor = if reduction == Reduction::Mean {
        count as f64
    } else {
        1.0
    };
    (sum / divisor) as f32
}
