//! The trait that matrices implement to be multiplied.

use std::ops::Range;

/// A matrix as a list of vectors, called lines: the rows of the left matrix of a
/// product, or the columns of the right matrix.
pub(crate) trait Lines<T>: Sync {
    /// Returns the number of rows of a left matrix, or of columns of a right matrix.
    fn line_count(&self) -> usize;

    /// Returns the length of the inner axis, over which the product sums.
    fn k(&self) -> usize;

    /// Packs `out.len() / k.len()` rows (or columns) from `first`, for a range of the
    /// inner axis. Values with the same position on the inner axis are adjacent in
    /// `out`. Rows beyond the end of the matrix are filled with zeros.
    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]);

    /// Packs rows (or columns) into panels of `width`. If `out` has no space for a full
    /// last panel, the last panel is narrower.
    fn pack_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        let panels = out.chunks_mut((width * k.len()).max(1));
        for (number, panel) in panels.enumerate() {
            self.pack(first + number * width, k.clone(), panel);
        }
    }

    /// Returns the values and the stride of the inner axis, if the values of adjacent
    /// rows (or columns) are interleaved in memory.
    fn adjacent_lines(&self) -> Option<(&[T], usize)> {
        None
    }

    /// Returns a row (or column) as a slice, if its values are contiguous.
    fn line(&self, _number: usize) -> Option<&[T]> {
        None
    }
}
