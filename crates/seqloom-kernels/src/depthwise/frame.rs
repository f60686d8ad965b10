//! A plane with zeros around it, in which each tap of a window is an offset.

use crate::conv::Shape;
use crate::{Float, lanes::Registers};

/// A plane, its place in the frame, and the windows over the frame; pairs are (height, width).
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The plane.
    pub(super) size: [usize; 2],
    /// The windows.
    pub(super) out: [usize; 2],
    /// Position of the plane at which the frame starts; negative before the plane.
    start: [isize; 2],
    kernel: [usize; 2],
    dilation: [usize; 2],
}

impl Frame {
    /// The input of a convolution, as the convolution sees it.
    pub(super) fn of_input(shape: &Shape) -> Self {
        Self {
            size: shape.size,
            out: shape.out_size().unwrap_or_default(),
            start: shape.padding.map(|padding| -padding.cast_signed()),
            kernel: shape.kernel,
            dilation: shape.dilation,
        }
    }

    /// The gradient of the output, as the gradient of the input sees it.
    pub(super) fn of_gradient(shape: &Shape) -> Self {
        let frame = Self::of_input(shape);
        let start =
            |axis: usize| shape.padding[axis].cast_signed() - frame.reach(axis).cast_signed();
        Self {
            size: frame.out,
            out: shape.size,
            start: [start(0), start(1)],
            ..frame
        }
    }

    /// Where each tap of the first window stands.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let [height, width] = self.kernel;
        let offset = |tap: usize| {
            tap / width * self.dilation[0] * self.pitch() + tap % width * self.dilation[1]
        };
        (0..height * width).map(offset).collect()
    }

    /// Lends space for the frame, and for a number for each window.
    pub(super) fn with_scratch<T: Float>(&self, work: impl FnOnce(&mut [T], &mut [T])) {
        let lanes = Registers::of::<T>().lanes;
        // The windows' last register reaches beyond them, and so beyond the frame.
        let frame = (self.out[0] + self.reach(0)) * self.pitch() + lanes;
        let windows = self.length().next_multiple_of(lanes);
        T::with_scratch(frame + windows, |scratch| {
            let (framed, windows) = scratch.split_at_mut(frame);
            work(framed, windows);
        });
    }

    /// Copies the plane into the frame, with zeros around it.
    pub(super) fn fill<T: Float>(&self, plane: &[T], framed: &mut [T]) {
        let [height, width] = self.size;
        let rows = framed.chunks_mut(self.pitch()).enumerate();
        for (number, framed) in rows {
            let line = (number.cast_signed() + self.start[0]).cast_unsigned();
            let row = if line < height {
                &plane[line * width..][..width]
            } else {
                &[]
            };
            copy(row, self.start[1], framed);
        }
    }

    /// Lays a number for each window out as the frame's rows are, with zeros between rows.
    pub(super) fn spread<T: Float>(&self, windows: &[T], spread: &mut [T]) {
        let mut rows = windows.chunks_exact(self.out[1]);
        for spread in spread.chunks_mut(self.pitch()) {
            copy(rows.next().unwrap_or_default(), 0, spread);
        }
    }

    /// Takes the number of each window out of those of all positions.
    pub(super) fn take<T: Float>(&self, sums: &[T], out: &mut [T]) {
        let width = self.out[1];
        for (out, sums) in out.chunks_exact_mut(width).zip(sums.chunks(self.pitch())) {
            out.copy_from_slice(&sums[..width]);
        }
    }

    /// Positions of the frame from the first window to the last.
    fn length(&self) -> usize {
        (self.out[0] - 1) * self.pitch() + self.out[1]
    }

    /// Numbers of a row of the frame.
    fn pitch(&self) -> usize {
        self.out[1] + self.reach(1)
    }

    /// From the first tap of a window to its last.
    fn reach(&self, axis: usize) -> usize {
        self.dilation[axis] * (self.kernel[axis] - 1)
    }
}

/// Fills `out` with the row from `start` on, and zeros where there is no row.
fn copy<T: Float>(row: &[T], start: isize, out: &mut [T]) {
    let before = start.min(0).unsigned_abs().min(out.len());
    let from = start.max(0).unsigned_abs().min(row.len());
    let count = (row.len() - from).min(out.len() - before);
    out[..before].fill(T::ZERO);
    out[before..before + count].copy_from_slice(&row[from..from + count]);
    out[before + count..].fill(T::ZERO);
}
