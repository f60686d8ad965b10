//! Matrix products, with the kernels and the summation order of the NumPy backend.

use seqloom_kernels::product::{Matrix, multiply_pairs};

use super::call::Call;
use super::elementwise::{Operands, add_function};
use super::fused::Operand;
use super::shapes::reshaped_view;
use crate::Dtype;
use crate::layout::broadcast;
use crate::memory::{Outcome, Read, Write, by_float};
use crate::plan::{Builder, View};

pub(crate) fn matmul(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, y) = (call.array("x")?, call.array("y")?);
    multiply(b, &x, &y)
}

/// Adds the product of matrices or of batches of matrices to the plan.
fn multiply(b: &mut Builder, x: &View, y: &View) -> Outcome<View> {
    if x.rank() == 0 || y.rank() == 0 {
        return Err("expected vectors or matrices, got a number".to_owned());
    }
    let (is_row, is_column) = (x.rank() == 1, y.rank() == 1);
    let left = if is_row {
        x.with_layout(x.layout.unsqueezed(0))
    } else {
        x.clone()
    };
    let right = if is_column {
        y.with_layout(y.layout.unsqueezed(1))
    } else {
        y.clone()
    };
    let mut found = multiply_matrices(b, &left, &right)?;
    if is_column {
        found = found.with_layout(found.layout.select(found.rank() - 1, 0));
    }
    if is_row {
        let axis = found.rank() - if is_column { 1 } else { 2 };
        found = found.with_layout(found.layout.select(axis, 0));
    }
    Ok(found)
}

fn multiply_matrices(b: &mut Builder, x: &View, y: &View) -> Outcome<View> {
    let dtype = x.dtype.result_type(y.dtype);
    if !dtype.is_float() {
        return multiply_integers(b, x, y, dtype);
    }
    let (x, y) = (b.cast(x, dtype)?, b.cast(y, dtype)?);
    require_equal_k(&x, &y)?;
    if x.rank() > 2 || y.rank() > 2 {
        return multiply_batches(b, &x, &y);
    }
    multiply_pair(b, &x, &y, None)
}

fn require_equal_k(x: &View, y: &View) -> Outcome {
    let ([.., k], [.., rows, _]) = (x.shape(), y.shape()) else {
        return Err("expected matrices".to_owned());
    };
    if k == rows {
        return Ok(());
    }
    let (x, y) = (x.shape(), y.shape());
    Err(format!("the shapes {x:?} and {y:?} do not fit together"))
}

/// Multiplies integer matrices in double precision, which is exact below 2^53.
fn multiply_integers(b: &mut Builder, x: &View, y: &View, dtype: Dtype) -> Outcome<View> {
    let (x, y) = (b.cast(x, Dtype::Float64)?, b.cast(y, Dtype::Float64)?);
    let found = multiply_matrices(b, &x, &y)?;
    b.cast(&found, dtype)
}

/// Adds the product of two matrices plus a bias to the plan.
fn multiply_pair(b: &mut Builder, x: &View, y: &View, bias: Option<&View>) -> Outcome<View> {
    let ([rows, k], [_, columns]) = (x.shape(), y.shape()) else {
        return Err("expected matrices".to_owned());
    };
    let (rows, k, columns) = (*rows, *k, *columns);
    let bias = bias.map(|bias| b.contiguous(bias)).transpose()?;
    let (mut x, mut y) = (x.clone(), y.clone());
    if !is_contiguous_matrix(&x) || !is_contiguous_matrix(&y) {
        (x, y) = (b.contiguous(&x)?, b.contiguous(&y)?);
    }
    let lines = ProductLayout {
        sizes: [rows, columns, k],
        are_transposed: [is_transposed(&x), !is_transposed(&y)],
        count: 1,
    };
    add_product(b, &lines, [Some(x), Some(y), bias], &[rows, columns])
}

/// Returns true if a matrix or its transpose is contiguous.
fn is_contiguous_matrix(x: &View) -> bool {
    x.layout.is_contiguous() || x.layout.transposed().is_contiguous()
}

/// Returns true if only the transpose of a matrix is contiguous.
fn is_transposed(x: &View) -> bool {
    !x.layout.is_contiguous() && x.layout.transposed().is_contiguous()
}

/// Adds the product of batches of matrices to the plan.
fn multiply_batches(b: &mut Builder, x: &View, y: &View) -> Outcome<View> {
    let (outer_x, outer_y) = (&x.shape()[..x.rank() - 2], &y.shape()[..y.rank() - 2]);
    let batch = broadcast([outer_x, outer_y])?;
    let count = batch
        .iter()
        .try_fold(1_usize, |all, &size| all.checked_mul(size));
    let count = count.ok_or_else(|| format!("the shape {batch:?} is too large"))?;
    let [rows, k, columns] = [
        x.shape()[x.rank() - 2],
        x.shape()[x.rank() - 1],
        y.shape()[y.rank() - 1],
    ];
    let (x, x_transposed) = stack(b, x, &batch, count)?;
    let (y, y_transposed) = stack(b, y, &batch, count)?;
    let lines = ProductLayout {
        sizes: [rows, columns, k],
        are_transposed: [x_transposed, !y_transposed],
        count,
    };
    let shape = [&batch[..], &[rows, columns]].concat();
    add_product(b, &lines, [Some(x), Some(y), None], &shape)
}

/// Returns a batch of matrices as one contiguous array, and whether each matrix is
/// transposed in memory.
fn stack(b: &mut Builder, x: &View, batch: &[usize], count: usize) -> Outcome<(View, bool)> {
    let ends = &x.shape()[x.rank() - 2..];
    let layout = x.layout.broadcast_to(&[batch, ends].concat());
    let wide = x.with_layout(layout.ok_or("the shapes do not broadcast")?);
    let row = reshaped_view(b, &wide, &[count, ends[0], ends[1]])?;
    if row.layout.transposed().is_contiguous() {
        return Ok((row, true));
    }
    Ok((b.contiguous(&row)?, false))
}

/// The memory layout of the left and right matrices and of the optional bias of a product,
/// with its sizes M, N and K.
struct ProductLayout {
    sizes: [usize; 3],
    are_transposed: [bool; 2],
    count: usize,
}

fn add_product(
    b: &mut Builder,
    lines: &ProductLayout,
    factors: [Option<View>; 3],
    shape: &[usize],
) -> Outcome<View> {
    let reads: Vec<View> = factors.into_iter().flatten().collect();
    let dtype = reads.first().map_or(Dtype::Float32, |view| view.dtype);
    let made = b.allocate(dtype, shape)?;
    let ProductLayout {
        sizes,
        are_transposed,
        count,
    } = *lines;
    let [rows, columns, k] = sizes;
    let work = [count, rows, columns, k]
        .iter()
        .fold(1_usize, |all, &size| all.saturating_mul(size));
    let kernel = Box::new(
        move |reads: &[Read<'_>], writes: &mut [Write<'_>], threads| {
            let ([x, y, bias @ ..], [write]) = (reads, writes) else {
                return Ok(());
            };
            let threads = seqloom_kernels::useful_threads(threads, work / 40);
            by_float!(dtype, T => {
                let left = Matrix::from_slice(x.elements_onward::<T>()?, [rows, k], are_transposed[0]);
                let right = Matrix::from_slice(y.elements_onward::<T>()?, [columns, k], are_transposed[1]);
                let bias = bias.first().map(Read::slice::<T>).transpose()?;
                multiply_pairs(left, right, bias, write.slice()?, threads);
                Ok(())
            })
        },
    );
    b.add_step(reads, &[&made], kernel)?;
    Ok(made)
}

pub(crate) fn linear(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, weight) = (call.array("x")?, call.array("weight")?);
    linear_layer(b, &x, &weight, call.opt_array("bias")?.as_ref())
}

/// Adds the operation that computes `x @ weight.T + bias` to the plan.
pub(crate) fn linear_layer(
    b: &mut Builder,
    x: &View,
    weight: &View,
    bias: Option<&View>,
) -> Outcome<View> {
    let ([outer @ .., inputs], [outputs, k]) = (x.shape(), weight.shape()) else {
        return Err("expected x (..., in) and weight (out, in)".to_owned());
    };
    if inputs != k || bias.is_some_and(|bias| bias.shape() != [*outputs]) {
        let (x, weight) = (x.shape(), weight.shape());
        return Err(format!(
            "expected x (..., in), weight (out, in) and bias (out), got {x:?} and {weight:?}"
        ));
    }
    let shape: Vec<usize> = outer.iter().copied().chain([*outputs]).collect();
    let count = outer.iter().product();
    let rows = reshaped_view(b, x, &[count, *inputs])?;
    let transposed = weight.with_layout(weight.layout.transposed());
    let is_one_type = [Some(weight), bias]
        .into_iter()
        .flatten()
        .all(|view| view.dtype == x.dtype);
    let found = if is_one_type && x.dtype.is_float() {
        multiply_pair(b, &rows, &transposed, bias)?
    } else {
        let found = multiply_matrices(b, &rows, &transposed)?;
        add_bias(b, found, bias)?
    };
    reshaped_view(b, &found, &shape)
}

fn add_bias(b: &mut Builder, found: View, bias: Option<&View>) -> Outcome<View> {
    let Some(bias) = bias else { return Ok(found) };
    let dtype = found.dtype;
    let both = vec![Operand::Array(found), Operand::Array(bias.clone())];
    add_function(b, "add", &Operands::new(both, dtype))
}

pub(crate) fn tensordot(b: &mut Builder, call: &Call<'_>) -> Outcome<View> {
    let (x, y) = (call.array("x")?, call.array("y")?);
    let (left, right) = summed_axes(call, x.rank(), y.rank())?;
    let rows: Vec<usize> = (0..x.rank()).filter(|axis| !left.contains(axis)).collect();
    let columns: Vec<usize> = (0..y.rank()).filter(|axis| !right.contains(axis)).collect();
    // Both arrays are summed in the axis order of the left array.
    let mut pairs: Vec<(usize, usize)> = left.into_iter().zip(right).collect();
    pairs.sort_unstable();
    if pairs
        .iter()
        .any(|&(one, other)| x.shape()[one] != y.shape()[other])
    {
        let (x, y) = (x.shape(), y.shape());
        return Err(format!("the shapes {x:?} and {y:?} do not fit together"));
    }
    let (left, right): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
    let one = group_axes(b, &x, [&rows, &left])?;
    let other = group_axes(b, &y, [&right, &columns])?;
    let found = multiply_matrices(b, &one, &other)?;
    let rows = rows.iter().map(|&axis| x.shape()[axis]);
    let columns = columns.iter().map(|&axis| y.shape()[axis]);
    let shape: Vec<usize> = rows.chain(columns).collect();
    reshaped_view(b, &found, &shape)
}

/// Returns the axes of both arrays that are summed over.
fn summed_axes(call: &Call<'_>, x: usize, y: usize) -> Outcome<(Vec<usize>, Vec<usize>)> {
    use super::call::{ArgValue, unique_axes};
    let axes = call.get("axes")?.unwrap_or(ArgValue::Int(2));
    if let ArgValue::List(parts) = &axes {
        let [one, other] = &parts[..] else {
            return Err("axes: expected a list for each array".to_owned());
        };
        let axes = |value: &ArgValue, rank| unique_axes(&value.ints("axes")?, rank, "axes");
        let (one, other) = (axes(one, x)?, axes(other, y)?);
        if one.len() == other.len() {
            return Ok((one, other));
        }
        return Err("axes: expected the same number for both arrays".to_owned());
    }
    let count = axes.ints("axes")?.first().copied().unwrap_or(2);
    let count = usize::try_from(count)
        .ok()
        .filter(|&count| count <= x && count <= y);
    let count = count.ok_or("axes: expected at most the number of axes of either array")?;
    Ok(((x - count..x).collect(), (0..count).collect()))
}

/// Reshapes an array to shape (1, rows, columns), where rows and columns each combine a
/// group of axes.
fn group_axes(b: &mut Builder, x: &View, groups: [&[usize]; 2]) -> Outcome<View> {
    let permuted = x.with_layout(x.layout.permuted(&groups.concat()));
    let size = |axes: &[usize]| axes.iter().map(|&axis| x.shape()[axis]).product::<usize>();
    reshaped_view(b, &permuted, &[1, size(groups[0]), size(groups[1])])
}
