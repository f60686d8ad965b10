//! What a factor of a product is packed from.

use std::ops::Range;

/// A factor as lines along the depth: the rows of the left one, the columns of the right.
pub(crate) trait Lines<T>: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Numbers of a line.
    fn depth(&self) -> usize;

    /// Lays `out.len() / depth.len()` lines from the one numbered `first` side by side,
    /// place by place of this part of the depth; zeros where there is no line.
    fn pack(&self, first: usize, depth: Range<usize>, out: &mut [T]);
}
