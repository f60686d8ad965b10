//! The memory layout of arrays.

/// The shape and strides of an array, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    /// The offset of the first element.
    pub(crate) start: usize,
}

impl Layout {
    /// Returns the layout of a contiguous array in C order.
    pub(crate) fn new(shape: &[usize]) -> Self {
        let order: Vec<usize> = (0..shape.len()).collect();
        Self::with_order(shape, &order)
    }

    /// Returns the layout of an array without gaps; `order` lists its axes in memory order,
    /// fastest last.
    pub(crate) fn with_order(shape: &[usize], order: &[usize]) -> Self {
        let mut strides = vec![0; shape.len()];
        let mut step = 1_usize;
        for &axis in order.iter().rev() {
            strides[axis] = step;
            step = step.saturating_mul(shape[axis]);
        }
        Self {
            shape: shape.to_vec(),
            strides,
            start: 0,
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true if the array is contiguous in C order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut step = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 && stride != step {
                return self.count() == 0;
            }
            step *= size;
        }
        true
    }

    /// Permutes the axes: `axes[i]` becomes axis i.
    pub(crate) fn permuted(&self, axes: &[usize]) -> Self {
        Self {
            shape: axes.iter().map(|&axis| self.shape[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
            start: self.start,
        }
    }

    /// Returns the layout with the last two axes exchanged.
    pub(crate) fn transposed(&self) -> Self {
        let mut axes: Vec<usize> = (0..self.rank()).collect();
        if let [.., before, last] = &mut axes[..] {
            std::mem::swap(before, last);
        }
        self.permuted(&axes)
    }

    /// Returns the layout broadcast to a shape; the stride of a repeated axis is 0.
    pub(crate) fn broadcast_to(&self, shape: &[usize]) -> Option<Self> {
        let ahead = shape.len().checked_sub(self.rank())?;
        let mut strides = vec![0; shape.len()];
        for (axis, (&size, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            let wanted = shape[ahead + axis];
            if size == wanted {
                strides[ahead + axis] = stride;
            } else if size != 1 {
                return None;
            }
        }
        Some(Self {
            shape: shape.to_vec(),
            strides,
            start: self.start,
        })
    }

    /// Inserts an axis of length 1 at a position.
    pub(crate) fn unsqueezed(&self, axis: usize) -> Self {
        let mut made = self.clone();
        let inner = self.shape.get(axis).zip(self.strides.get(axis));
        let step = inner.map_or(1, |(size, stride)| size.saturating_mul(*stride).max(1));
        made.shape.insert(axis, 1);
        made.strides.insert(axis, step);
        made
    }

    /// Removes an axis by selecting one index of that axis.
    pub(crate) fn select(&self, axis: usize, position: usize) -> Self {
        let mut made = self.clone();
        made.start += position * made.strides[axis];
        made.shape.remove(axis);
        made.strides.remove(axis);
        made
    }

    /// Selects `count` indices of an axis: `first`, `first + step`, `first + 2 * step` and
    /// so on.
    pub(crate) fn slice(&self, axis: usize, first: usize, count: usize, step: usize) -> Self {
        let mut made = self.clone();
        if count > 0 {
            made.start += first * made.strides[axis];
        }
        made.shape[axis] = count;
        // The stride of an axis of length 1 is never used, so its value does not
        // matter.
        if count > 1 {
            made.strides[axis] = made.strides[axis].saturating_mul(step);
        }
        made
    }

    /// Returns the layout of the array in a new shape, or `None` if the reshape needs a
    /// copy.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        if self.is_contiguous() {
            let start = self.start;
            return Some(Self {
                start,
                ..Self::new(shape)
            });
        }
        let kept = (0..self.rank()).filter(|&axis| self.shape[axis] != 1);
        let old: Vec<(usize, usize)> = kept
            .map(|axis| (self.shape[axis], self.strides[axis]))
            .collect();
        let strides = reshaped_strides(&old, shape)?;
        Some(Self {
            shape: shape.to_vec(),
            strides,
            start: self.start,
        })
    }

    /// Iterates over the offset of each row of the last axis.
    pub(crate) fn rows(&self) -> Rows<'_> {
        let outer = self.rank().saturating_sub(1);
        Rows {
            layout: self,
            index: vec![0; outer],
            next: (self.count() > 0).then_some(self.start),
        }
    }

    /// Returns the length and the stride of the last axis.
    pub(crate) fn last_axis(&self) -> (usize, usize) {
        let size = self.shape.last().copied().unwrap_or(1);
        (size, self.strides.last().copied().unwrap_or(1))
    }
}

/// Returns the strides of an array in a new shape, computed as in NumPy from the size and
/// stride of each old axis.
fn reshaped_strides(old: &[(usize, usize)], shape: &[usize]) -> Option<Vec<usize>> {
    let mut strides = vec![0; shape.len()];
    let (mut from, mut to) = (0, 0);
    while from < old.len() && to < shape.len() {
        let (mut behind, mut until) = (from + 1, to + 1);
        let (mut have, mut want) = (old[from].0, shape[to]);
        while have != want {
            if want < have {
                want *= shape.get(until)?;
                until += 1;
            } else {
                have *= old.get(behind)?.0;
                behind += 1;
            }
        }
        let pairs = old[from..behind].windows(2);
        if pairs
            .into_iter()
            .any(|pair| pair[0].1 != pair[1].0 * pair[1].1)
        {
            return None;
        }
        let mut step = old[behind - 1].1;
        for axis in (to..until).rev() {
            strides[axis] = step;
            step = step.saturating_mul(shape[axis]);
        }
        (from, to) = (behind, until);
    }
    let last = if to > 0 { strides[to - 1] } else { 1 };
    strides[to..].fill(last);
    Some(strides)
}

/// An iterator over the offsets of the rows of an array.
pub(crate) struct Rows<'a> {
    layout: &'a Layout,
    index: Vec<usize>,
    next: Option<usize>,
}

impl Iterator for Rows<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let here = self.next?;
        let mut at = here;
        for axis in (0..self.index.len()).rev() {
            let (size, stride) = (self.layout.shape[axis], self.layout.strides[axis]);
            self.index[axis] += 1;
            at += stride;
            if self.index[axis] < size {
                self.next = Some(at);
                return Some(here);
            }
            self.index[axis] = 0;
            at -= size * stride;
        }
        self.next = None;
        Some(here)
    }
}

/// Returns the axis order in which NumPy iterates over arrays of one shape, fastest axis
/// last. The order is that of decreasing strides, or C order where the strides of two
/// arrays disagree.
pub(crate) fn iteration_order(shape: &[usize], arrays: &[&[usize]]) -> Vec<usize> {
    let stride = |array: &[usize], axis: usize| if shape[axis] == 1 { 0 } else { array[axis] };
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    for first in 1..order.len() {
        let axis = order[first];
        let mut place = first;
        for other in (0..first).rev() {
            let steps = arrays
                .iter()
                .map(|array| (stride(array, axis), stride(array, order[other])));
            let mut known = steps
                .filter(|(here, there)| *here != 0 && *there != 0)
                .peekable();
            if known.peek().is_none() {
                continue;
            }
            if known.any(|(here, there)| there <= here) {
                break;
            }
            place = other;
        }
        order.remove(first);
        order.insert(place, axis);
    }
    order.reverse();
    order
}

/// Returns the number of elements, counting axes of length 0 as length 1, or `None` if
/// the number is too large for an index. The product of the lengths of some of the axes
/// is at most this number.
pub(crate) fn extent(shape: &[usize]) -> Option<usize> {
    let grow = |all: usize, &size: &usize| all.checked_mul(size.max(1));
    let found = shape.iter().try_fold(1, grow)?;
    (found <= MAX_ELEMENTS).then_some(found)
}

/// The maximum number of elements in an array or in a broadcast view.
const MAX_ELEMENTS: usize = isize::MAX.cast_unsigned() / 16;

/// Returns the shape that several shapes broadcast to.
pub(crate) fn broadcast<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    for shape in shapes {
        let joined = seqloom_fuse::shape::broadcast_shape(&mut found, shape);
        joined.map_err(|error| error.to_string())?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_iterated_in_stride_order() {
        assert_eq!(iteration_order(&[6, 4, 5], &[&[1, 30, 6]]), [1, 2, 0]);
        assert_eq!(iteration_order(&[4, 5], &[&[5, 1], &[1, 4]]), [0, 1]);
        assert_eq!(iteration_order(&[4, 5], &[&[0, 1], &[1, 4]]), [1, 0]);
    }

    #[test]
    fn a_transposed_array_is_reshaped_if_its_axes_stay_adjacent() {
        let transposed = Layout::new(&[4, 5, 6]).permuted(&[2, 0, 1]);
        assert_eq!(transposed.reshaped(&[6, 20]).unwrap().strides, [1, 6]);
        assert!(transposed.reshaped(&[24, 5]).is_none());
    }

    #[test]
    fn rows_are_visited_in_order() {
        let transposed = Layout::new(&[2, 3]).permuted(&[1, 0]);
        assert_eq!(transposed.rows().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(Layout::new(&[]).rows().collect::<Vec<_>>(), [0]);
    }
}
