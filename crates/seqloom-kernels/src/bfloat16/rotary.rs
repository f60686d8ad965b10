//! A linear layer whose outputs are turned by their positions.

use super::x86::{Finish, multiply, rotate};
use super::{Layer, over_bands};
use crate::dense::Rotation;

/// Fills `out` with the layer's outputs for the rows of `x`; the first heads of each row are
/// turned, in float32.
pub fn linear_then_rotate(
    layer: Layer<'_>,
    rotation: Rotation<'_, f32>,
    x: &[u16],
    out: &mut [u16],
    threads: usize,
) {
    let finish = Finish {
        residual: None,
        gelu: false,
    };
    over_bands(layer, x, out, threads, |band| {
        multiply(band.x, band.panels, finish, band.out);
        let rotation = rotation.starting_at(band.first);
        rotate(layer.machine, rotation, layer.outputs(), band.out);
    });
}
