//! Linear layers and the parts of a transformer's block in bfloat16, each row by itself.
//!
//! Numbers are read and written as 16 bits, the upper half of a float32. Products are summed
//! in float32 from the first to the last, two of them by each instruction, so a row has the
//! same bits alone and beside others. Norm, gelu and rotation are computed in float32.
//!
//! Only a machine with AVX512-BF16 can do this: [`Machine::find`] tells.

mod attention;
mod feed_forward;
mod norm;
mod panels;
mod rotary;
#[cfg(test)]
mod tests;
#[cfg_attr(not(target_arch = "x86_64"), path = "elsewhere.rs")]
mod x86;

use std::sync::LazyLock;

use seqloom_core::simd;

use crate::Float;
use crate::dense::each_band;
use panels::Panels;
use x86::{Finish, multiply};

pub use attention::{Attention, Heads};
pub use feed_forward::FeedForward;
pub use norm::Norm;
pub use rotary::linear_then_rotate;

/// A machine that has the instructions; there is no other way to these kernels.
#[derive(Clone, Copy, Debug)]
pub struct Machine(());

static HAS_THEM: LazyLock<bool> = LazyLock::new(|| x86::are_offered() && simd::name() == "avx512");

impl Machine {
    /// This machine, if it has the instructions and `SEQLOOM_SIMD` does not forbid them.
    pub fn find() -> Option<Self> {
        HAS_THEM.then_some(Self(()))
    }
}

/// A linear layer: `x @ weight.T + bias`.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The one that computes.
    pub machine: Machine,
    /// A row of `inputs` numbers for each output.
    pub weight: &'a [u16],
    /// Added to each output.
    pub bias: Option<&'a [u16]>,
    /// Numbers of a row that goes in: an even number of them, at least two.
    pub inputs: usize,
}

impl Layer<'_> {
    /// Numbers of a row that comes out.
    pub fn outputs(&self) -> usize {
        self.weight.len() / self.inputs
    }
}

/// Fills `out` with the layer's outputs for the rows of `x`, each added to its residual where
/// there are some.
pub fn linear(
    layer: Layer<'_>,
    x: &[u16],
    residual: Option<&[u16]>,
    out: &mut [u16],
    threads: usize,
) {
    over_bands(layer, x, out, threads, |band| {
        let start = band.first * layer.outputs();
        let residual = residual.map(|residual| &residual[start..][..band.out.len()]);
        let finish = Finish {
            residual,
            gelu: false,
        };
        multiply(band.x, band.panels, finish, band.out);
    });
}

/// Packs the layer's weights and calls `work` for each band of rows.
fn over_bands(
    layer: Layer<'_>,
    x: &[u16],
    out: &mut [u16],
    threads: usize,
    work: impl Fn(Band<'_, '_>) + Sync,
) {
    let (inputs, outputs) = (layer.inputs, layer.outputs());
    f32::with_scratch(Panels::room(&layer), |room| {
        let panels = &Panels::pack(&layer, room, threads);
        each_band(out, outputs, inputs + outputs, threads, |first, out| {
            let x = &x[first * inputs..][..out.len() / outputs * inputs];
            work(Band {
                panels,
                first,
                x,
                out,
            });
        });
    });
}

/// Some rows, and where their outputs go.
struct Band<'a, 'b> {
    panels: &'a Panels<'a>,
    /// The number of its first row.
    first: usize,
    x: &'a [u16],
    out: &'b mut [u16],
}
