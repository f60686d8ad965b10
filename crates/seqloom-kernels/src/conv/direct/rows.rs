//! The zero-padded input of an output row, in a memory layout in which each tap of the
//! filter is at a fixed offset.

use crate::Float;

/// The memory layout of the channels of a sample. In each pair of numbers, the first is
/// for the height and the second for the width.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputRows {
    pub(super) channels: usize,
    /// The height and width of a channel.
    pub(super) size: [usize; 2],
    /// The distance between two positions of the channel in the padded row; zeros fill
    /// the gaps.
    pub(super) spread: [usize; 2],
    /// The start of the first window, negative if the window starts in the padding.
    pub(super) start: [isize; 2],
    /// The distance between windows.
    pub(super) stride: [usize; 2],
    /// The number of taps of a window.
    pub(super) kernel: [usize; 2],
    /// The distance between taps.
    pub(super) dilation: [usize; 2],
}

impl InputRows {
    /// Returns the number of input rows that an output row depends on, in all channels.
    pub(super) fn row_count(&self) -> usize {
        self.channels * self.kernel[0]
    }

    /// Returns the same layout for another number of channels.
    pub(super) fn with_channels(self, channels: usize) -> Self {
        Self { channels, ..self }
    }

    /// Returns the number of values of a channel.
    pub(super) fn plane_size(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Returns the number of values of a sample.
    pub(super) fn sample_size(&self) -> usize {
        self.channels * self.plane_size()
    }

    /// Returns the size of the scratch memory for the input rows of `width` windows.
    pub(super) fn scratch_size(&self, width: usize) -> usize {
        self.row_count() * self.phase_count() * self.phase_length(width)
    }

    /// Returns the offset of each tap of the first window in scratch memory, row by
    /// row.
    pub(super) fn tap_offsets(&self, width: usize) -> impl Iterator<Item = usize> + use<> {
        let ([_, kernel], [_, stride]) = (self.kernel, self.stride);
        let (phases, length, dilation) = (
            self.phase_count(),
            self.phase_length(width),
            self.dilation[1],
        );
        (0..self.row_count() * kernel).map(move |tap| {
            let (row, position) = (tap / kernel, tap % kernel * dilation);
            (row * phases + position % stride) * length + position / stride
        })
    }

    /// Copies the input values of `width` windows, starting at `position`.
    pub(super) fn copy_windows<T: Float>(
        &self,
        sample: &[T],
        position: [usize; 2],
        width: usize,
        out: &mut [T],
    ) {
        let length = self.phase_length(width);
        for (number, out) in out.chunks_exact_mut(length).enumerate() {
            let (row, phase) = (number / self.phase_count(), number % self.phase_count());
            let row = self.row(sample, position[0], row).unwrap_or_default();
            let start = self.start[1] + to_isize(position[1] * self.stride[1] + phase);
            match (self.stride[1], self.spread[1]) {
                (1, 1) => copy_range(row, start, out),
                (stride, 1) => copy_every_stride(row, start, stride, out),
                (_, spread) => spread_values(row, start, spread, out),
            }
        }
    }

    /// Returns one of the input rows that an output row depends on, or `None` if the
    /// row is padding.
    fn row<'a, T>(&self, sample: &'a [T], line: usize, number: usize) -> Option<&'a [T]> {
        let (channel, tap) = (number / self.kernel[0], number % self.kernel[0]);
        let position = self.start[0] + to_isize(line * self.stride[0] + tap * self.dilation[0]);
        let position = usize::try_from(position).ok()?;
        let line =
            Some(position / self.spread[0]).filter(|line| line * self.spread[0] == position)?;
        let [height, width] = self.size;
        (line < height).then(|| &sample[(channel * height + line) * width..][..width])
    }

    /// Returns the number of phases. A phase contains the positions of a row that have
    /// the same remainder modulo the stride. Within a phase, the values that a tap
    /// reads for adjacent windows are next to each other.
    fn phase_count(&self) -> usize {
        self.stride[1].min(self.span() + 1)
    }

    fn phase_length(&self, width: usize) -> usize {
        width + self.span() / self.stride[1]
    }

    fn span(&self) -> usize {
        self.dilation[1] * self.kernel[1].saturating_sub(1)
    }
}

/// Copies the row from position `start` into `out`, with zeros outside the row.
fn copy_range<T: Float>(row: &[T], start: isize, out: &mut [T]) {
    let before = start.min(0).unsigned_abs().min(out.len());
    let from = start.max(0).unsigned_abs().min(row.len());
    let count = (row.len() - from).min(out.len() - before);
    out[..before].fill(T::ZERO);
    out[before..before + count].copy_from_slice(&row[from..from + count]);
    out[before + count..].fill(T::ZERO);
}

fn copy_every_stride<T: Float>(row: &[T], start: isize, stride: usize, out: &mut [T]) {
    for (number, out) in out.iter_mut().enumerate() {
        let position = usize::try_from(start + to_isize(number * stride)).ok();
        *out = position
            .and_then(|position| row.get(position))
            .copied()
            .unwrap_or(T::ZERO);
    }
}

fn spread_values<T: Float>(row: &[T], start: isize, spread: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    for (number, &value) in row.iter().enumerate() {
        let position = usize::try_from(to_isize(number * spread) - start).ok();
        if let Some(out) = position.and_then(|position| out.get_mut(position)) {
            *out = value;
        }
    }
}

/// Converts a size to a signed integer. The conversion cannot overflow, because array
/// sizes are below half of the largest `usize`.
pub(super) const fn to_isize(size: usize) -> isize {
    size.cast_signed()
}
