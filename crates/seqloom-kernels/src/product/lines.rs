//! The lines of a matrix in a product.

use std::ops::Range;

/// A matrix as lines along K: the rows of the left matrix, or the columns of the right
/// one.
pub(crate) trait Lines<T>: Sync {
    /// Returns the number of lines.
    fn count(&self) -> usize;

    /// Returns the length of a line.
    fn k(&self) -> usize;

    /// Packs `out.len() / k.len()` lines from `first` for a range of K, with the values
    /// of one position side by side. Lines after the last one are filled with zeros.
    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]);

    /// Packs lines into panels of `width`; the last panel may be narrower, so that it
    /// ends at the end of `out`.
    fn pack_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        let panels = out.chunks_mut((width * k.len()).max(1));
        for (number, panel) in panels.enumerate() {
            self.pack(first + number * width, k.clone(), panel);
        }
    }

    /// Returns the values and the distance between positions of K, if the values of
    /// adjacent lines are adjacent in memory.
    fn adjacent_lines(&self) -> Option<(&[T], usize)> {
        None
    }

    /// Returns a line if its values are contiguous.
    fn line(&self, _number: usize) -> Option<&[T]> {
        None
    }
}
