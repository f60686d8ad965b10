//! A sample's rows with zeros around them, laid out so that each tap is an offset.

use crate::{Float, conv1d::signed};

/// How the rows of a sample are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    /// Places of a row.
    pub(super) length: usize,
    /// The row is read as if its places were this far apart, with zeros between them.
    pub(super) spread: usize,
    /// Where the first window starts; negative inside the padding.
    pub(super) start: isize,
    /// From one window to the next.
    pub(super) stride: usize,
    /// Taps of a window.
    pub(super) kernel: usize,
    /// From one tap to the next.
    pub(super) dilation: usize,
}

impl Rows {
    /// Numbers that hold the rows of `width` windows.
    pub(super) fn size(&self, width: usize) -> usize {
        self.count * self.phases() * self.phase_length(width)
    }

    /// Where each tap of the first window stands, row by row.
    pub(super) fn offsets(&self, width: usize) -> impl Iterator<Item = usize> + use<> {
        let Self {
            count,
            stride,
            kernel,
            dilation,
            ..
        } = *self;
        let (phases, length) = (self.phases(), self.phase_length(width));
        (0..count * kernel).map(move |tap| {
            let (row, place) = (tap / kernel, tap % kernel * dilation);
            (row * phases + place % stride) * length + place / stride
        })
    }

    /// Copies what `width` windows from the one numbered `first` see.
    pub(super) fn fill<T: Float>(&self, sample: &[T], first: usize, width: usize, out: &mut [T]) {
        let length = self.phase_length(width);
        for (number, out) in out.chunks_exact_mut(length).enumerate() {
            let (row, phase) = (number / self.phases(), number % self.phases());
            let row = &sample[row * self.length..][..self.length];
            let start = self.start + signed(first * self.stride + phase);
            match (self.stride, self.spread) {
                (1, 1) => copy(row, start, out),
                (stride, 1) => gather(row, start, stride, out),
                (_, spread) => scatter(row, start, spread, out),
            }
        }
    }

    /// Windows a stride apart that see the same places are neighbours in a phase.
    fn phases(&self) -> usize {
        self.stride.min(self.reach() + 1)
    }

    fn phase_length(&self, width: usize) -> usize {
        width + self.reach() / self.stride
    }

    fn reach(&self) -> usize {
        self.dilation * self.kernel.saturating_sub(1)
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

fn gather<T: Float>(row: &[T], start: isize, stride: usize, out: &mut [T]) {
    for (number, out) in out.iter_mut().enumerate() {
        let place = usize::try_from(start + signed(number * stride)).ok();
        *out = place
            .and_then(|place| row.get(place))
            .copied()
            .unwrap_or(T::ZERO);
    }
}

fn scatter<T: Float>(row: &[T], start: isize, spread: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    for (number, &value) in row.iter().enumerate() {
        let place = usize::try_from(signed(number * spread) - start).ok();
        if let Some(out) = place.and_then(|place| out.get_mut(place)) {
            *out = value;
        }
    }
}
