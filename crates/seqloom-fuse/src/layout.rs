//! How a shape is cut into blocks, and where in each array a block lies.

/// A shape with as few axes as all arrays allow, cut into blocks of whole rows, or of parts
/// of one row where rows are long.
pub(crate) struct BlockLayout {
    sizes: Vec<usize>,
    /// How many positions there are.
    pub(crate) total: usize,
    /// How long a row is: the last axis.
    pub(crate) row: usize,
    /// How many positions the longest block has.
    pub(crate) block: usize,
}

/// Steps from one position to the next along each axis, zero where an array is broadcast.
pub(crate) type Strides = Vec<usize>;

impl BlockLayout {
    /// Joins axes that every array walks through without a jump; gives each its strides.
    pub(crate) fn new(shape: &[usize], arrays: &[&[usize]], most: usize) -> (Self, Vec<Strides>) {
        let mut sizes: Vec<usize> = Vec::with_capacity(shape.len());
        let mut strides: Vec<Strides> = vec![Vec::with_capacity(shape.len()); arrays.len()];
        for (axis, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let joined = |(own, array): (&Strides, &&[usize])| {
                own.last().is_some_and(|&last| last == array[axis] * size)
            };
            let join = strides.iter().zip(arrays).all(joined);
            match sizes.last_mut().filter(|_| join) {
                Some(last) => *last *= size,
                None => sizes.push(size),
            }
            for (own, array) in strides.iter_mut().zip(arrays) {
                if join {
                    own.pop();
                }
                own.push(array[axis]);
            }
        }
        if sizes.is_empty() {
            sizes.push(1);
            for own in &mut strides {
                own.push(0);
            }
        }
        (Self::cut(sizes, most), strides)
    }

    fn cut(sizes: Vec<usize>, most: usize) -> Self {
        let row = sizes.last().copied().unwrap_or(1).max(1);
        let total = sizes.iter().product();
        let block = if row >= most { most } else { most / row * row };
        Self {
            sizes,
            total,
            row,
            block,
        }
    }

    /// How many blocks a row has, where it has more than one.
    fn per_row(&self) -> usize {
        self.row.div_ceil(self.block).max(1)
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        if self.row > self.block {
            self.total / self.row * self.per_row()
        } else {
            self.total.div_ceil(self.block.max(1))
        }
    }

    /// Where a block begins, as a position in the order of the shape.
    pub(crate) fn start(&self, block: usize) -> usize {
        let start = if self.row > self.block {
            let (row, part) = (block / self.per_row(), block % self.per_row());
            row * self.row + part * self.block
        } else {
            block * self.block
        };
        start.min(self.total)
    }

    /// Calls `work` for each row, or part of a row, of a block: with the position in the
    /// array, and the positions in the block.
    pub(crate) fn runs(
        &self,
        strides: &Strides,
        start: usize,
        length: usize,
        mut work: impl FnMut(usize, std::ops::Range<usize>),
    ) {
        let (mut row, mut column) = (start / self.row, start % self.row);
        let mut done = 0;
        while done < length {
            let count = (self.row - column).min(length - done);
            let at = self.row_offset(strides, row) + column * strides[strides.len() - 1];
            work(at, done..done + count);
            (row, column, done) = (row + 1, 0, done + count);
        }
    }

    /// Where a row begins in an array.
    pub(crate) fn row_offset(&self, strides: &Strides, row: usize) -> usize {
        let (mut rest, mut offset) = (row, 0);
        for axis in (1..self.sizes.len() - 1).rev() {
            offset += rest % self.sizes[axis] * strides[axis];
            rest /= self.sizes[axis];
        }
        if self.sizes.len() > 1 {
            offset + rest * strides[0]
        } else {
            offset
        }
    }

    /// The last place in an array that the shape reaches, plus one.
    pub(crate) fn extent(&self, strides: &Strides) -> usize {
        let steps = self.sizes.iter().zip(strides);
        1 + steps
            .map(|(size, stride)| (size.max(&1) - 1) * stride)
            .sum::<usize>()
    }

    /// Whether an array is walked through without a jump.
    pub(crate) fn is_contiguous(&self, strides: &Strides) -> bool {
        strides.len() == 1 && (strides[0] == 1 || self.total == 1)
            || self.follows(strides, self.sizes.len()) && strides[strides.len() - 1] == 1
    }

    /// Whether the array is the same in each block: blocks begin where rows do.
    pub(crate) fn is_repeated(&self, strides: &Strides) -> bool {
        let outer = strides.len() - 1;
        self.row <= self.block && strides[..outer].iter().all(|&stride| stride == 0)
    }

    /// Whether the array has one position for each row, in order.
    pub(crate) fn is_one_per_row(&self, strides: &Strides) -> bool {
        let outer = strides.len() - 1;
        outer > 0 && strides[outer] == 0 && strides[outer - 1] == 1 && self.follows(strides, outer)
    }

    /// Whether each of the first axes steps over the whole of the next ones.
    fn follows(&self, strides: &Strides, axes: usize) -> bool {
        (1..axes).all(|axis| strides[axis - 1] == strides[axis] * self.sizes[axis])
    }
}
