//! The trait that matrices implement to be multiplied.

use std::ops::Range;

/// A matrix as a list of lines: the rows of the left matrix of a product, or the
/// columns of the right one.
pub(crate) trait Lines<T>: Sync {
    /// Returns the number of lines.
    fn count(&self) -> usize;

    /// Returns the length of a line, which is the length of the inner axis of the
    /// product.
    fn k(&self) -> usize;

    /// Packs `out.len() / k.len()` lines from `first` for a range of the inner axis.
    /// Values with the same position on the inner axis are adjacent in `out`. Lines
    /// after the last one are filled with zeros.
    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]);

    /// Packs lines into panels of `width` lines. The last panel has fewer lines if
    /// `out` ends earlier.
    fn pack_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        let panels = out.chunks_mut((width * k.len()).max(1));
        for (number, panel) in panels.enumerate() {
            self.pack(first + number * width, k.clone(), panel);
        }
    }

    /// Returns the values and the stride of the inner axis, if the values of adjacent
    /// lines are adjacent in memory.
    fn adjacent_lines(&self) -> Option<(&[T], usize)> {
        None
    }

    /// Returns a line as a slice, if the values of the line are contiguous.
    fn line(&self, _number: usize) -> Option<&[T]> {
        None
    }
}
