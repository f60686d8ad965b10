//! Reductions of an array along axes, in the summation order of NumPy.
//!
//! NumPy iterates over an array in memory order. If the fastest axis is reduced, NumPy sums
//! its elements pairwise with eight partial sums, and adds the sums of rows one by one. If
//! another axis is reduced, NumPy adds whole rows to a row of totals. Rows with gaps are
//! copied to a buffer of 8192 elements, which is then summed pairwise.

use bytemuck::Pod;

use crate::layout::{Layout, iteration_order};

/// An element type that reductions support.
pub(crate) trait Element: Pod + PartialOrd {
    const SUM_IDENTITY: Self;
    const PRODUCT_IDENTITY: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! impl_element {
    ($type:ty, $zero:literal, $one:literal, $plus:expr, $by:expr, $nan:expr) => {
        impl Element for $type {
            const SUM_IDENTITY: Self = $zero;
            const PRODUCT_IDENTITY: Self = $one;
            #[inline]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                $by(self, other)
            }
            #[inline]
            fn is_nan(self) -> bool {
                $nan(self)
            }
        }
    };
}

impl_element!(
    f32,
    0.0,
    1.0,
    |x: f32, y: f32| x + y,
    |x: f32, y: f32| x * y,
    f32::is_nan
);
impl_element!(
    f64,
    0.0,
    1.0,
    |x: f64, y: f64| x + y,
    |x: f64, y: f64| x * y,
    f64::is_nan
);
impl_element!(i64, 0, 1, i64::wrapping_add, i64::wrapping_mul, |_| false);

/// The operation that combines two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    Sum,
    Prod,
    Max,
    Min,
}

impl Reduce {
    #[inline]
    fn combine<T: Element>(self, total: T, more: T) -> T {
        match self {
            Self::Sum => total.plus(more),
            Self::Prod => total.times(more),
            Self::Max if total.is_nan() || total >= more => total,
            Self::Min if total.is_nan() || total <= more => total,
            Self::Max | Self::Min => more,
        }
    }
}

/// An axis, or several adjacent axes merged into one: its size, and its strides in the
/// array and the result.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    step: usize,
    /// The stride of the axis in the result; 0 if the axis is reduced.
    out: usize,
}

/// The order in which a reduction iterates over an array.
#[derive(Debug)]
pub(crate) struct Reduction {
    fold: Reduce,
    start: usize,
    axes: Vec<Axis>,
    /// The axes of the array that remain in the result, in the memory order of the
    /// result.
    pub(crate) order: Vec<usize>,
}

impl Reduction {
    /// Plans the reduction of an array with this layout along axes.
    pub(crate) fn new(fold: Reduce, layout: &Layout, folded: &[usize]) -> Self {
        let all = iteration_order(&layout.shape, &[&layout.strides]);
        let order: Vec<usize> = all
            .iter()
            .copied()
            .filter(|axis| !folded.contains(axis))
            .collect();
        let (mut steps, mut step) = (vec![0; layout.rank()], 1);
        for &axis in order.iter().rev() {
            steps[axis] = step;
            step *= layout.shape[axis];
        }
        let axes = all.iter().map(|&axis| Axis {
            size: layout.shape[axis],
            step: layout.strides[axis],
            out: steps[axis],
        });
        Self {
            fold,
            start: layout.start,
            axes: merge_axes(axes.filter(|axis| axis.size != 1)),
            order,
        }
    }

    /// Reduces all elements into `out`.
    pub(crate) fn run<T: Element>(&self, x: &[T], out: &mut [T]) {
        if self.axes.iter().any(|axis| axis.size == 0) {
            return out.fill(self.empty_result());
        }
        match self.fold {
            Reduce::Sum | Reduce::Prod => out.fill(self.empty_result()),
            Reduce::Max | Reduce::Min => self.initialise(x, out),
        }
        let inner = self
            .axes
            .iter()
            .rev()
            .take_while(|axis| axis.out == 0)
            .count();
        let (outer, inner) = self.axes.split_at(self.axes.len() - inner);
        let mut buffer = Vec::new();
        if let Some((row, outer)) = outer.split_last().filter(|_| inner.is_empty()) {
            for_each_position(outer, self.start, |at, place| {
                self.add_row(*row, &x[at..], &mut out[place..]);
            });
        } else {
            for_each_position(outer, self.start, |at, place| {
                out[place] = self.reduce_axes(&x[at..], inner, out[place], &mut buffer);
            });
        }
    }

    fn empty_result<T: Element>(&self) -> T {
        if self.fold == Reduce::Prod {
            T::PRODUCT_IDENTITY
        } else {
            T::SUM_IDENTITY
        }
    }

    /// Initialises each result with its first element.
    fn initialise<T: Element>(&self, x: &[T], out: &mut [T]) {
        let kept: Vec<Axis> = self
            .axes
            .iter()
            .copied()
            .filter(|axis| axis.out != 0)
            .collect();
        for_each_position(&kept, self.start, |at, place| out[place] = x[at]);
    }

    /// Adds a row to a row of totals.
    fn add_row<T: Element>(&self, axis: Axis, x: &[T], out: &mut [T]) {
        let Axis {
            size,
            step,
            out: by,
        } = axis;
        if (step, by) == (1, 1) {
            let pairs = out[..size].iter_mut().zip(&x[..size]);
            match self.fold {
                Reduce::Sum => pairs.for_each(|(out, &x)| *out = out.plus(x)),
                fold => pairs.for_each(|(out, &x)| *out = fold.combine(*out, x)),
            }
            return;
        }
        for number in 0..size {
            let total = &mut out[number * by];
            *total = self.fold.combine(*total, x[number * step]);
        }
    }

    /// Reduces all elements along the given axes to one value.
    fn reduce_axes<T: Element>(&self, x: &[T], axes: &[Axis], total: T, buffer: &mut Vec<T>) -> T {
        match axes {
            [] => self.fold.combine(total, x[0]),
            [row] => self.combine_row(total, x, row.step, row.size),
            _ => {
                let (together, parts) = buffered_axes(axes);
                let mut total = total;
                for_each_position(parts, 0, |at, _| {
                    for (start, chunk) in axis_chunks(&together) {
                        buffer.clear();
                        for_each_position(&chunk, at + start, |at, _| buffer.push(x[at]));
                        total = self.combine_row(total, buffer, 1, buffer.len());
                    }
                });
                total
            }
        }
    }

    fn combine_row<T: Element>(&self, total: T, row: &[T], step: usize, count: usize) -> T {
        match self.fold {
            Reduce::Sum if step == 1 => total.plus(pairwise_sum(&row[..count])),
            Reduce::Sum => total.plus(strided_sum(row, step, count)),
            fold @ (Reduce::Max | Reduce::Min) if step == 1 && count >= COMPARE_LANES => {
                let row = &row[..count];
                let in_order = || row.iter().fold(total, |total, &x| fold.combine(total, x));
                row_extreme(fold, row).map_or_else(in_order, |found| fold.combine(total, found))
            }
            fold => {
                let numbers = row.iter().step_by(step.max(1)).take(count);
                let repeated = std::iter::repeat_n(&row[0], count);
                if step == 0 {
                    repeated.fold(total, |total, &x| fold.combine(total, x))
                } else {
                    numbers.fold(total, |total, &x| fold.combine(total, x))
                }
            }
        }
    }
}

/// Merges axes that are contiguous in both array and result.
fn merge_axes(axes: impl Iterator<Item = Axis>) -> Vec<Axis> {
    let mut found: Vec<Axis> = Vec::new();
    for axis in axes {
        match found.last_mut() {
            Some(last)
                if last.step == axis.step * axis.size && last.out == axis.out * axis.size =>
            {
                *last = Axis {
                    size: last.size * axis.size,
                    ..axis
                };
            }
            _ => found.push(axis),
        }
    }
    found
}

/// Calls `work` for each index along the given axes, in order, with the offsets in the
/// array and the result.
fn for_each_position(axes: &[Axis], start: usize, mut work: impl FnMut(usize, usize)) {
    let mut index = vec![0; axes.len()];
    let (mut at, mut place) = (start, 0);
    loop {
        work(at, place);
        let mut number = axes.len();
        loop {
            let Some(before) = number.checked_sub(1) else {
                return;
            };
            number = before;
            let axis = axes[number];
            index[number] += 1;
            (at, place) = (at + axis.step, place + axis.out);
            if index[number] < axis.size {
                break;
            }
            index[number] = 0;
            (at, place) = (at - axis.size * axis.step, place - axis.size * axis.out);
        }
    }
}

/// The size of the NumPy buffer in elements.
const NUMPY_BUFFER_SIZE: usize = 8192;

/// Returns the axes that are buffered together, and the outer axes.
fn buffered_axes(axes: &[Axis]) -> (Vec<Axis>, &[Axis]) {
    let mut count = 1;
    let mut number = axes.len();
    while number > 0 && (count == 1 || count * 2 <= NUMPY_BUFFER_SIZE) {
        number -= 1;
        count *= axes[number].size;
    }
    (axes[number..].to_vec(), &axes[..number])
}

/// Splits the slowest axis so that each chunk fits the buffer. Returns the offset and
/// axes of each chunk. The function returns an iterator because a long broadcast axis may
/// have too many chunks for a vector.
fn axis_chunks(axes: &[Axis]) -> impl Iterator<Item = (usize, Vec<Axis>)> {
    let inner: usize = axes.iter().skip(1).map(|axis| axis.size).product();
    let most = (NUMPY_BUFFER_SIZE / inner.max(1)).max(1);
    let first = axes.first().map(|axis| (0..axis.size).step_by(most));
    first.into_iter().flatten().map(move |start| {
        let mut part = axes.to_vec();
        part[0].size = most.min(part[0].size - start);
        (start * part[0].step, part)
    })
}

/// The number of elements of a row that are compared in parallel.
const COMPARE_LANES: usize = 16;

/// Returns the maximum or minimum of a row of at least [`COMPARE_LANES`] elements, and
/// the first one if several elements are equal. Returns `None` if the row contains NaN.
fn row_extreme<T: Element>(fold: Reduce, row: &[T]) -> Option<T> {
    if fold == Reduce::Max {
        pick_extreme(row, |found, x| if x > found { x } else { found })
    } else {
        pick_extreme(row, |found, x| if x < found { x } else { found })
    }
}

#[inline]
fn pick_extreme<T: Element>(row: &[T], pick: impl Fn(T, T) -> T) -> Option<T> {
    let (blocks, _) = row.as_chunks::<COMPARE_LANES>();
    // The last block overlaps the previous one, which does not change the maximum or
    // minimum.
    let (mut found, last) = (*blocks.first()?, row.last_chunk::<COMPARE_LANES>()?);
    let mut is_nan = [false; COMPARE_LANES];
    for block in blocks.iter().chain([last]) {
        for ((found, is_nan), &x) in found.iter_mut().zip(&mut is_nan).zip(block) {
            *found = pick(*found, x);
            *is_nan |= x.is_nan();
        }
    }
    for half in [8, 4, 2, 1] {
        (0..half).for_each(|lane| found[lane] = pick(found[lane], found[lane + half]));
    }
    match found[0] {
        _ if is_nan.contains(&true) => None,
        // 0 and -0 compare as equal but have different bits, so the first of them must
        // be returned.
        zero if zero == T::SUM_IDENTITY => row.iter().copied().find(|x| *x == zero),
        found => Some(found),
    }
}

/// Returns the sum of contiguous elements by pairwise summation, down to blocks of 128.
pub(crate) fn pairwise_sum<T: Element>(x: &[T]) -> T {
    if x.len() > 128 {
        let half = x.len() / 2;
        let (first, second) = x.split_at(half - half % 8);
        return pairwise_sum(first).plus(pairwise_sum(second));
    }
    let (blocks, rest) = x.as_chunks::<8>();
    let Some((first, blocks)) = blocks.split_first() else {
        return sum_in_order(x);
    };
    let mut sums = *first;
    for block in blocks {
        for (sum, &x) in sums.iter_mut().zip(block) {
            *sum = sum.plus(x);
        }
    }
    let pairs = [0, 2, 4, 6].map(|first| sums[first].plus(sums[first + 1]));
    let total = pairs[0].plus(pairs[1]).plus(pairs[2].plus(pairs[3]));
    rest.iter().fold(total, |total, &x| total.plus(x))
}

/// Returns the sum of a small number of elements, which are added one after the other.
fn sum_in_order<T: Element>(x: &[T]) -> T {
    let mut numbers = x.iter().copied();
    let first = numbers.next().unwrap_or(T::SUM_IDENTITY);
    numbers.fold(first, T::plus)
}

/// Returns the pairwise sum of elements with gaps.
fn strided_sum<T: Element>(x: &[T], step: usize, count: usize) -> T {
    if count > 128 {
        let half = count / 2;
        let half = half - half % 8;
        let rest = &x[half * step..];
        return strided_sum(x, step, half).plus(strided_sum(rest, step, count - half));
    }
    let mut block = [T::SUM_IDENTITY; 128];
    let block = &mut block[..count];
    for (number, slot) in block.iter_mut().enumerate() {
        *slot = x[number * step];
    }
    pairwise_sum(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pairwise_sum_has_the_bits_of_numpy() {
        // The expected sums are those of numpy.sum for all 1000 elements and for the
        // first 100.
        let x: Vec<f32> = (0..1000_u16).map(|i| f32::from(i) * 0.1 + 0.3).collect();
        assert_eq!(pairwise_sum(&x).to_bits(), NUMPY_SUM_OF_1000);
        assert_eq!(pairwise_sum(&x[..100]).to_bits(), NUMPY_SUM_OF_100);
    }

    const NUMPY_SUM_OF_1000: u32 = 1_195_657_729;
    const NUMPY_SUM_OF_100: u32 = 1_141_063_680;

    fn sum_in_order(fold: Reduce, row: &[f32]) -> f32 {
        row.iter().fold(row[0], |total, &x| fold.combine(total, x))
    }

    #[test]
    fn a_maximum_has_the_bits_of_the_first_equal_element() {
        let wave: Vec<f32> = (0..101_u16).map(|i| (f32::from(i) * 0.7).sin()).collect();
        let zeros: Vec<f32> = wave.iter().map(|x| x * 0.0).collect();
        let mut broken = wave.clone();
        broken[37] = f32::NAN;
        for (row, fold) in [&wave, &zeros, &broken]
            .into_iter()
            .flat_map(|row| [Reduce::Max, Reduce::Min].map(|fold| (row, fold)))
        {
            let walk = Reduction::new(fold, &Layout::new(&[row.len()]), &[0]);
            let mut out = [0.0];
            walk.run(row, &mut out);
            assert_eq!(out[0].to_bits(), sum_in_order(fold, row).to_bits());
        }
    }

    #[test]
    fn a_long_axis_is_split_lazily() {
        let [size, step, out] = [1 << 40, 0, 0];
        let axes = [
            Axis { size, step, out },
            Axis {
                size: 3,
                step: 1,
                out,
            },
        ];
        let sizes: Vec<usize> = axis_chunks(&axes)
            .take(2)
            .map(|(_, part)| part[0].size)
            .collect();
        assert_eq!(sizes, [NUMPY_BUFFER_SIZE / 3; 2]);
    }

    #[test]
    fn middle_axes_are_reduced() {
        let layout = Layout::new(&[2, 3, 4]);
        let x: Vec<i64> = (0..24).collect();
        let walk = Reduction::new(Reduce::Sum, &layout, &[0, 2]);
        let mut out = [0; 3];
        walk.run(&x, &mut out);
        assert_eq!(out, [60, 92, 124]);
        let walk = Reduction::new(Reduce::Max, &layout, &[1]);
        let mut out = [0; 8];
        walk.run(&x, &mut out);
        assert_eq!(out, [8, 9, 10, 11, 20, 21, 22, 23]);
    }
}
