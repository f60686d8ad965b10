//! What a factor of a product is packed from.

use std::ops::Range;

/// A factor as lines along K: the rows of the left one, the columns of the right.
pub(crate) trait Lines<T>: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Numbers of a line.
    fn k(&self) -> usize;

    /// Lays `out.len() / k.len()` lines from the one numbered `first` side by side,
    /// position by position of this part of K; zeros where there is no line.
    fn pack(&self, first: usize, k: Range<usize>, out: &mut [T]);

    /// Lays lines out in panels of `width`, the last one as narrow as `out` ends.
    fn pack_panels(&self, first: usize, k: Range<usize>, width: usize, out: &mut [T]) {
        let panels = out.chunks_mut((width * k.len()).max(1));
        for (number, panel) in panels.enumerate() {
            self.pack(first + number * width, k.clone(), panel);
        }
    }

    /// The first number of each line, and from there on all others, where the lines' numbers
    /// of one position of K stand side by side; and how far it is to the next position.
    fn adjacent_lines(&self) -> Option<(&[T], usize)> {
        None
    }

    /// A line's numbers, where they stand side by side in memory.
    fn line(&self, _number: usize) -> Option<&[T]> {
        None
    }
}
