//! A zero-padded plane, in which each tap of a window is at a fixed offset.

use crate::{Float, conv::Shape, lanes::Registers};

/// A plane, its position in the zero-padded frame, and the windows over the frame. In
/// each pair of numbers, the first is for the height and the second for the width.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaddedFrame {
    /// The height and width of the plane.
    pub(super) size: [usize; 2],
    /// The number of windows along the height and the width.
    pub(super) out: [usize; 2],
    /// The position of the frame's first value in the plane, negative if the frame
    /// starts before the plane.
    start: [isize; 2],
    kernel: [usize; 2],
    dilation: [usize; 2],
}

impl PaddedFrame {
    /// Returns the zero-padded frame of the input, from which the output is computed.
    pub(super) fn for_input(shape: &Shape) -> Self {
        Self {
            size: shape.size,
            out: shape.out_size().unwrap_or_default(),
            start: shape.padding.map(|padding| -padding.cast_signed()),
            kernel: shape.kernel,
            dilation: shape.dilation,
        }
    }

    /// Returns the zero-padded frame of the output gradient, from which the input
    /// gradient is computed.
    pub(super) fn for_gradient(shape: &Shape) -> Self {
        let frame = Self::for_input(shape);
        let start =
            |axis: usize| shape.padding[axis].cast_signed() - frame.tap_span(axis).cast_signed();
        Self {
            size: frame.out,
            out: shape.size,
            start: [start(0), start(1)],
            ..frame
        }
    }

    /// Returns the offset in the frame of each tap of the first window.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let [height, width] = self.kernel;
        let offset = |tap: usize| {
            tap / width * self.dilation[0] * self.stride() + tap % width * self.dilation[1]
        };
        (0..height * width).map(offset).collect()
    }

    /// Calls `work` with scratch memory for the frame, and with scratch memory for one
    /// value per window.
    pub(super) fn with_scratch<T: Float>(&self, work: impl FnOnce(&mut [T], &mut [T])) {
        let lanes = Registers::for_type::<T>().lanes;
        // The last register may extend beyond the last window and therefore beyond the
        // frame.
        let frame = (self.out[0] + self.tap_span(0)) * self.stride() + lanes;
        let windows = self.length().next_multiple_of(lanes);
        T::with_scratch(frame + windows, |scratch| {
            let (framed, windows) = scratch.split_at_mut(frame);
            work(framed, windows);
        });
    }

    /// Copies the plane into the frame, with zeros around it.
    pub(super) fn fill_frame<T: Float>(&self, plane: &[T], framed: &mut [T]) {
        let [height, width] = self.size;
        let rows = framed.chunks_mut(self.stride()).enumerate();
        for (number, framed) in rows {
            let line = (number.cast_signed() + self.start[0]).cast_unsigned();
            let row = if line < height {
                &plane[line * width..][..width]
            } else {
                &[]
            };
            copy_row(row, self.start[1], framed);
        }
    }

    /// Copies one value per window into rows as long as the rows of the frame, with
    /// zeros after the values of each row.
    pub(super) fn scatter<T: Float>(&self, windows: &[T], spread: &mut [T]) {
        let mut rows = windows.chunks_exact(self.out[1]);
        for spread in spread.chunks_mut(self.stride()) {
            copy_row(rows.next().unwrap_or_default(), 0, spread);
        }
    }

    /// Copies the values of the windows from rows as long as the rows of the frame.
    pub(super) fn gather<T: Float>(&self, sums: &[T], out: &mut [T]) {
        let width = self.out[1];
        for (out, sums) in out.chunks_exact_mut(width).zip(sums.chunks(self.stride())) {
            out.copy_from_slice(&sums[..width]);
        }
    }

    /// Returns the distance in the frame from the first window to the end of the last
    /// window.
    fn length(&self) -> usize {
        (self.out[0] - 1) * self.stride() + self.out[1]
    }

    /// Returns the length of a row of the frame.
    fn stride(&self) -> usize {
        self.out[1] + self.tap_span(1)
    }

    /// Returns the distance along an axis from the first tap of a window to the last
    /// tap.
    fn tap_span(&self, axis: usize) -> usize {
        self.dilation[axis] * (self.kernel[axis] - 1)
    }
}

/// Copies the row from position `start` into `out`, with zeros outside the row.
fn copy_row<T: Float>(row: &[T], start: isize, out: &mut [T]) {
    let before = start.min(0).unsigned_abs().min(out.len());
    let from = start.max(0).unsigned_abs().min(row.len());
    let count = (row.len() - from).min(out.len() - before);
    out[..before].fill(T::ZERO);
    out[before..before + count].copy_from_slice(&row[from..from + count]);
    out[before + count..].fill(T::ZERO);
}
