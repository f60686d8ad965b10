//! Channels of samples, and the convolution windows over these channels.

/// A group of channels of each sample, and the convolution windows over these channels.
#[derive(Clone, Copy)]
pub(super) struct Image<'a, T> {
    pub(super) values: &'a [T],
    /// The number of values of a sample, in all its channels.
    pub(super) sample: usize,
    pub(super) first_channel: usize,
    pub(super) channels: usize,
    /// The height and width of a channel.
    pub(super) size: [usize; 2],
    /// The number of windows along the height and the width.
    pub(super) out: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) dilation: [usize; 2],
}

/// Adjacent windows in one row of a sample.
#[derive(Clone, Copy)]
pub(super) struct WindowRun {
    /// The index of the first window among all windows to pack.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) sample: usize,
    /// The row and column of the first window in its sample.
    pub(super) position: [usize; 2],
}

/// One element of a window, by its distance from the corner of the window.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub(super) channel: usize,
    pub(super) step: [usize; 2],
}

impl<T> Image<'_, T> {
    /// Returns the number of values of a window.
    pub(super) fn tap_count(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Returns the number of windows of a sample.
    pub(super) fn window_count(&self) -> usize {
        self.out[0] * self.out[1]
    }

    /// Returns the taps of a window in order, starting with the tap at index `first`.
    pub(super) fn remaining_taps(&self, first: usize) -> impl Iterator<Item = Tap> + use<T> {
        let ([height, width], dilation) = (self.kernel, self.dilation);
        let (row, mut x) = (first / width, first % width);
        let (mut channel, mut y) = (row / height, row % height);
        std::iter::from_fn(move || {
            let step = [y * dilation[0], x * dilation[1]];
            let tap = Tap { channel, step };
            x += 1;
            if x == width {
                (x, y) = (0, y + 1);
            }
            if y == height {
                (y, channel) = (0, channel + 1);
            }
            Some(tap)
        })
    }

    /// Splits `count` windows from `first` into runs of adjacent windows. The numbers
    /// of the windows continue from one sample to the next.
    pub(super) fn window_runs(
        &self,
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = WindowRun> + use<T> {
        let ([_, width], windows) = (self.out, self.window_count());
        let mut done = 0;
        std::iter::from_fn(move || {
            let left = count.checked_sub(done).filter(|&left| left > 0)?;
            let (sample, position) = ((first + done) / windows, (first + done) % windows);
            let position = [position / width, position % width];
            let run = WindowRun {
                first: done,
                count: left.min(width - position[1]),
                sample,
                position,
            };
            done += run.count;
            Some(run)
        })
    }

    /// Returns the windows of a run for which this tap is inside the image, if any.
    #[inline(always)]
    pub(super) fn visible_windows(&self, run: WindowRun, tap: Tap) -> Option<VisibleWindows> {
        let [height, width] = self.size;
        let y = run.position[0] * self.stride[0] + tap.step[0];
        let y = y.checked_sub(self.padding[0]).filter(|&y| y < height)?;
        // Window positions are relative to the start of the padding.
        let (first, stride) = (
            run.position[1] * self.stride[1] + tap.step[1],
            self.stride[1],
        );
        let before = self.padding[1].saturating_sub(first).div_ceil(stride);
        let x = (first + before * stride).checked_sub(self.padding[1])?;
        let left = width.saturating_sub(x).div_ceil(stride);
        let count = run.count.checked_sub(before)?.min(left);
        let row =
            run.sample * self.sample + ((self.first_channel + tap.channel) * height + y) * width;
        Some(VisibleWindows {
            before,
            count,
            from: row + x,
        })
        .filter(|_| count > 0)
    }
}

/// The windows of a run for which a tap is inside the image.
#[derive(Clone, Copy)]
pub(super) struct VisibleWindows {
    /// The number of windows at the start of the run for which the tap is in the
    /// padding.
    pub(super) before: usize,
    pub(super) count: usize,
    /// The offset of the value that the first window reads. The values of adjacent
    /// windows are one stride apart.
    pub(super) from: usize,
}
