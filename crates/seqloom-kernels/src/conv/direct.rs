//! Convolutions that are quicker without packing: one axis, few taps.

use super::Shape;
use crate::conv1d;

impl Shape {
    /// The sizes for the kernels of [`conv1d`], where they are quicker.
    pub(super) fn direct(&self, products: usize) -> Option<conv1d::Shape> {
        let one_axis = self.size[0] == 1 && self.kernel[0] == 1 && self.padding[0] == 0;
        let few = self.groups == 1 && products <= FEW;
        (one_axis && few).then_some(conv1d::Shape {
            batch: self.batch,
            channels: self.channels,
            length: self.size[1],
            outputs: self.outputs,
            kernel: self.kernel[1],
            stride: self.stride[1],
            padding: self.padding[1],
            dilation: self.dilation[1],
        })
    }
}

/// Products that are summed for a number: fewer do not pay for the packing.
const FEW: usize = 160;
