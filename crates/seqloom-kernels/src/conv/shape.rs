//! The sizes of a convolution.

use super::image::Image;
use crate::tuned;

/// The sizes of a convolution; pairs are (height, width).
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Samples.
    pub batch: usize,
    /// Channels of the input.
    pub channels: usize,
    /// Positions of a channel.
    pub size: [usize; 2],
    /// Channels of the output.
    pub outputs: usize,
    /// Taps of the filter.
    pub kernel: [usize; 2],
    /// Positions between two outputs, at least one.
    pub stride: [usize; 2],
    /// Zeros before and after the positions.
    pub padding: [usize; 2],
    /// Positions between two taps, at least one.
    pub dilation: [usize; 2],
    /// Parts that the channels of input and output are cut into; each output sees its part.
    pub groups: usize,
}

impl Shape {
    /// Positions of an output channel; none where the sizes do not fit one another.
    pub fn out_size(&self) -> Option<[usize; 2]> {
        let divides = |count: usize| self.groups > 0 && count.is_multiple_of(self.groups);
        let sound = divides(self.channels) && divides(self.outputs);
        let out = |axis: usize| {
            let reach = self.dilation[axis] * self.kernel[axis].checked_sub(1)?;
            let last = (self.size[axis] + 2 * self.padding[axis]).checked_sub(reach + 1)?;
            Some(last.checked_div(self.stride[axis])? + 1)
        };
        Some([out(0)?, out(1)?]).filter(|_| sound && self.dilation[0] * self.dilation[1] > 0)
    }

    /// What a pass takes one thread, some forty products each nanosecond.
    pub fn nanoseconds(&self) -> usize {
        self.batch * self.outputs * self.positions() * self.taps() / 40
    }

    /// Positions of an output channel, of both axes.
    pub(super) fn positions(&self) -> usize {
        self.out_size().map_or(0, |[height, width]| height * width)
    }

    /// Numbers of an input channel.
    pub(super) fn plane(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Input channels of a group.
    pub(super) fn group_channels(&self) -> usize {
        self.channels / self.groups
    }

    /// Output channels of a group.
    pub(super) fn group_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    /// Weights of one output.
    pub(super) fn taps(&self) -> usize {
        self.group_channels() * self.kernel[0] * self.kernel[1]
    }

    /// The input's channels that a group sees.
    pub(super) fn input<'a, T>(&self, x: &'a [T], group: usize) -> Image<'a, T> {
        Image {
            values: x,
            sample: self.channels * self.plane(),
            first_channel: group * self.group_channels(),
            channels: self.group_channels(),
            size: self.size,
            out: self.out_size().unwrap_or_default(),
            kernel: self.kernel,
            stride: self.stride,
            padding: self.padding,
            dilation: self.dilation,
        }
    }

    /// A group's channels of the output's gradient, each position a window of its own.
    pub(super) fn output<'a, T>(&self, grad: &'a [T], group: usize) -> Image<'a, T> {
        let row = [1, self.positions()];
        Image {
            values: grad,
            sample: self.outputs * self.positions(),
            first_channel: group * self.group_outputs(),
            channels: self.group_outputs(),
            size: row,
            out: row,
            kernel: [1, 1],
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
        }
    }

    /// Samples that are worked on together: some hundred windows.
    pub(super) fn together(&self) -> usize {
        (tuned::CONV_WINDOWS / self.positions().max(1)).clamp(1, self.batch.max(1))
    }
}
