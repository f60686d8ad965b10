//! The part of a transformer's block that takes each position by itself.

use super::Layer;
use super::norm::{Norm, Wide};
use super::panels::Panels;
use super::x86::{Finish, multiply, normalise};
use crate::Float;
use crate::dense::each_band;

/// Layer norm, a linear layer, gelu and a second linear layer, added to what went in.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward<'a> {
    /// Of each row.
    pub norm: Norm<'a>,
    /// From a row to the hidden numbers.
    pub inner: Layer<'a>,
    /// From the hidden numbers to a row.
    pub outer: Layer<'a>,
}

impl FeedForward<'_> {
    /// Fills `out` for the rows of `x`.
    pub fn apply(&self, x: &[u16], out: &mut [u16], threads: usize) {
        let (width, hidden) = (self.inner.inputs, self.outer.inputs);
        let room = Panels::room(&self.inner);
        f32::with_scratch(room + Panels::room(&self.outer), |packed| {
            let (inner, outer) = packed.split_at_mut(room);
            let packed = Packed {
                norm: self.norm.widened(),
                inner: Panels::pack(&self.inner, inner, threads),
                outer: Panels::pack(&self.outer, outer, threads),
            };
            each_band(out, width, 6 * width + hidden, threads, |first, out| {
                packed.fill(&x[first * width..][..out.len()], out);
            });
        });
    }
}

/// What all bands share.
struct Packed<'a> {
    norm: Wide,
    inner: Panels<'a>,
    outer: Panels<'a>,
}

impl Packed<'_> {
    /// Fills a band of rows.
    fn fill(&self, x: &[u16], out: &mut [u16]) {
        let count = x.len() / self.outer.outputs;
        let length = count * self.inner.outputs;
        let room = (x.len() + length).div_ceil(2);
        f32::with_scratch(room + 2 * count, |scratch| {
            let (numbers, statistics) = scratch.split_at_mut(room);
            let (normal, hidden) = bytemuck::cast_slice_mut(numbers).split_at_mut(x.len());
            let hidden = &mut hidden[..length];
            let (means, inverses) = statistics.split_at_mut(count);
            normalise(&self.norm, x, normal, [means, inverses]);
            let finish = Finish {
                residual: None,
                gelu: true,
            };
            multiply(normal, &self.inner, finish, hidden);
            let finish = Finish {
                residual: Some(x),
                gelu: false,
            };
            multiply(hidden, &self.outer, finish, out);
        });
    }
}
