//! The split of a shape into blocks, and the offset of each block in an array.

/// A shape, with adjacent axes merged, that is split into blocks. A block contains one or
/// more rows, or a section of a long row.
pub(crate) struct BlockLayout {
    sizes: Vec<usize>,
    /// The number of elements of the shape.
    pub(crate) total: usize,
    /// The length of a row, that is, of the last axis.
    pub(crate) row: usize,
    /// The maximum number of elements in a block.
    pub(crate) block: usize,
}

/// The stride of an array along each axis; 0 if the array is broadcast along the axis.
pub(crate) type Strides = Vec<usize>;

impl BlockLayout {
    /// Merges axes that are contiguous in every array, and returns the strides of each
    /// array.
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
        (Self::split(sizes, most), strides)
    }

    fn split(sizes: Vec<usize>, most: usize) -> Self {
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

    /// Returns the number of blocks per row if rows are split.
    fn blocks_per_row(&self) -> usize {
        self.row.div_ceil(self.block).max(1)
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        if self.row > self.block {
            self.total / self.row * self.blocks_per_row()
        } else {
            self.total.div_ceil(self.block.max(1))
        }
    }

    /// Returns the index of the first element of a block, in C order.
    pub(crate) fn start(&self, block: usize) -> usize {
        let start = if self.row > self.block {
            let (row, part) = (block / self.blocks_per_row(), block % self.blocks_per_row());
            row * self.row + part * self.block
        } else {
            block * self.block
        };
        start.min(self.total)
    }

    /// Calls `work` for each row, or section of a row, of a block. The arguments of `work`
    /// are the offset in the array and the index range in the block.
    pub(crate) fn for_each_run(
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

    /// Returns the offset in an array at which a row begins.
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

    /// Returns the number of elements in memory from the first to the last element of
    /// the array.
    pub(crate) fn extent(&self, strides: &Strides) -> usize {
        let steps = self.sizes.iter().zip(strides);
        1 + steps
            .map(|(size, stride)| (size.max(&1) - 1) * stride)
            .sum::<usize>()
    }

    /// Returns true if the array is contiguous.
    pub(crate) fn is_contiguous(&self, strides: &Strides) -> bool {
        strides.len() == 1 && (strides[0] == 1 || self.total == 1)
            || self.is_dense(strides, self.sizes.len()) && strides[strides.len() - 1] == 1
    }

    /// Returns true if all blocks read the same elements of the array. The result is
    /// false if a block can begin inside a row.
    pub(crate) fn is_repeated(&self, strides: &Strides) -> bool {
        let outer = strides.len() - 1;
        self.row <= self.block && strides[..outer].iter().all(|&stride| stride == 0)
    }

    /// Returns true if the array stores exactly one element per row, in row order.
    pub(crate) fn is_one_per_row(&self, strides: &Strides) -> bool {
        let outer = strides.len() - 1;
        outer > 0 && strides[outer] == 0 && strides[outer - 1] == 1 && self.is_dense(strides, outer)
    }

    /// Returns true if the first axes are contiguous with each other: each stride is the
    /// next stride times the size of the next axis.
    fn is_dense(&self, strides: &Strides, axes: usize) -> bool {
        (1..axes).all(|axis| strides[axis - 1] == strides[axis] * self.sizes[axis])
    }
}
