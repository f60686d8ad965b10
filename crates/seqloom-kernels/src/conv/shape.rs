//! The shape of a convolution.

use super::image::Image;
use crate::tuned;

/// The shape of a convolution. In each pair of numbers, the first is for the height and
/// the second for the width.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The number of samples.
    pub batch: usize,
    /// The number of input channels.
    pub channels: usize,
    /// The height and width of an input channel.
    pub size: [usize; 2],
    /// The number of output channels.
    pub outputs: usize,
    /// The height and width of the filter.
    pub kernel: [usize; 2],
    /// The distance between adjacent windows, at least 1.
    pub stride: [usize; 2],
    /// The padding: the number of zeros before and after each axis.
    pub padding: [usize; 2],
    /// The distance between adjacent taps, at least 1.
    pub dilation: [usize; 2],
    /// The number of groups of channels. Each output channel uses the input channels of
    /// its group.
    pub groups: usize,
}

impl Shape {
    /// Returns the height and width of an output channel, or `None` if the sizes do not
    /// match.
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

    /// Returns the estimated time of a pass in nanoseconds, if one thread computes 40
    /// products per nanosecond.
    pub fn nanoseconds(&self) -> usize {
        self.batch * self.outputs * self.positions() * self.taps() / 40
    }

    /// Returns the number of positions of an output channel.
    pub(super) fn positions(&self) -> usize {
        self.out_size().map_or(0, |[height, width]| height * width)
    }

    /// Returns the number of values of an input channel.
    pub(super) fn plane_size(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Returns the number of input channels of a group.
    pub(super) fn group_channels(&self) -> usize {
        self.channels / self.groups
    }

    /// Returns the number of output channels of a group.
    pub(super) fn group_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    /// Returns the number of weights of one output.
    pub(super) fn taps(&self) -> usize {
        self.group_channels() * self.kernel[0] * self.kernel[1]
    }

    /// Returns the input channels of a group, with their convolution windows.
    pub(super) fn input_image<'a, T>(&self, x: &'a [T], group: usize) -> Image<'a, T> {
        Image {
            values: x,
            sample: self.channels * self.plane_size(),
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

    /// Returns the output gradient of a group of channels as an image, with one window
    /// per position.
    pub(super) fn output_image<'a, T>(&self, grad: &'a [T], group: usize) -> Image<'a, T> {
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

    /// Returns the number of samples that are processed together. Together, these
    /// samples have a few hundred windows.
    pub(super) fn samples_per_block(&self) -> usize {
        (tuned::CONV_BLOCK_WINDOWS / self.positions().max(1)).clamp(1, self.batch.max(1))
    }
}
