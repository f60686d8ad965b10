//! Weights in panels, pair by pair.

use super::Layer;
use super::x86::{LANES, WIDE};
use crate::parallel;
use crate::product::{Lines, Matrix};

/// Packed weights and biases of a layer, both to the end of the last register.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "no other machine multiplies in bfloat16")
)]
pub(super) struct Panels<'a> {
    /// Panels of some outputs: of each pair of inputs a word for each output.
    pub(super) words: &'a [u32],
    /// Added to each output.
    pub(super) bias: &'a [f32],
    pub(super) outputs: usize,
    /// Pairs of a row.
    pub(super) pairs: usize,
}

impl<'a> Panels<'a> {
    /// Floats of the memory that a layer needs.
    pub(super) fn room(layer: &Layer<'_>) -> usize {
        layer.outputs().next_multiple_of(LANES) * (layer.inputs / 2 + 1)
    }

    /// Packs a layer into memory that has room for it.
    pub(super) fn pack(layer: &Layer<'_>, room: &'a mut [f32], threads: usize) -> Self {
        let (outputs, pairs) = (layer.outputs(), layer.inputs / 2);
        let (words, bias) = room.split_at_mut(outputs.next_multiple_of(LANES) * pairs);
        fill_bias(layer.bias, bias);
        // Pairs are moved as floats, whose bits a move does not change.
        let aligned: Vec<f32>;
        let values = if let Ok(values) = bytemuck::try_cast_slice(layer.weight) {
            values
        } else {
            let (pairs, _) = layer.weight.as_chunks::<2>();
            aligned = pairs.iter().map(|&pair| bytemuck::cast(pair)).collect();
            &aligned
        };
        let lines = Matrix {
            values,
            lines: outputs,
            depth: pairs,
            line_step: pairs,
            depth_step: 1,
        };
        parallel::chunks(words, WIDE * pairs, threads, |number, out| {
            lines.pack_panels(number * WIDE, 0..pairs, WIDE, out);
        });
        Self {
            words: bytemuck::cast_slice(words),
            bias,
            outputs,
            pairs,
        }
    }

    /// The words of each panel.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn each(&self) -> impl Iterator<Item = &[u32]> {
        self.words.chunks(WIDE * self.pairs)
    }
}

/// Widens the biases; zeros where there are none.
fn fill_bias(bias: Option<&[u16]>, out: &mut [f32]) {
    out.fill(0.0);
    let bias = bias.unwrap_or_default();
    out.iter_mut()
        .zip(bias)
        .for_each(|(out, &bias)| *out = wide(bias));
}

/// A number in float32.
pub(super) fn wide(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
