//! Parallel loops over the chunks of an output.

use rayon::prelude::*;

use crate::Float;
use crate::tuned::{CHUNK_VALUES, WAKE_NS};

/// Returns the number of threads to use, at most `threads`, for work that takes a
/// single thread about `nanoseconds`.
pub fn useful_threads(threads: usize, nanoseconds: usize) -> usize {
    if nanoseconds < WAKE_NS { 1 } else { threads }
}

/// Returns true if the calling thread does all work. The result is always true outside
/// a rayon pool, because rayon would otherwise start its global pool, which is never
/// shut down.
pub fn is_single_threaded(threads: usize) -> bool {
    // WebAssembly has one thread, so the compiler can remove the code for several
    // threads.
    cfg!(target_family = "wasm") || threads <= 1 || rayon::current_thread_index().is_none()
}

/// Fills an output in chunks of `size` elements. `fill` receives the index of each
/// chunk and the chunk. With a single thread, rayon is not used.
pub(crate) fn fill_chunks<T: Send>(
    out: &mut [T],
    size: usize,
    threads: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) {
    fill_chunks_dyn(out, size, threads, &fill);
}

/// Does the same as [`fill_chunks`], but takes `fill` as a trait object, so that this
/// function is compiled once per element type.
fn fill_chunks_dyn<T: Send>(
    out: &mut [T],
    size: usize,
    threads: usize,
    fill: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let size = size.max(1);
    if is_single_threaded(threads) || out.len() <= size {
        out.chunks_mut(size)
            .enumerate()
            .for_each(|(number, chunk)| fill(number, chunk));
    } else {
        out.par_chunks_mut(size)
            .enumerate()
            .for_each(|(number, chunk)| fill(number, chunk));
    }
}

/// Fills two outputs in parallel, in chunks of `sizes` elements.
pub(crate) fn fill_pairs<T: Send, U: Send>(
    (firsts, seconds): (&mut [T], &mut [U]),
    sizes: (usize, usize),
    threads: usize,
    fill: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    fill_pairs_dyn((firsts, seconds), sizes, threads, &fill);
}

/// A function that fills one chunk of each output. The first argument is the index of
/// the chunks.
type FillPair<'a, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'a;

/// Does the same as [`fill_pairs`], but takes `fill` as a trait object.
fn fill_pairs_dyn<T: Send, U: Send>(
    (firsts, seconds): (&mut [T], &mut [U]),
    sizes: (usize, usize),
    threads: usize,
    fill: &FillPair<'_, T, U>,
) {
    let sizes = (sizes.0.max(1), sizes.1.max(1));
    let fill =
        |(number, (first, second)): (usize, (&mut [T], &mut [U]))| fill(number, first, second);
    if is_single_threaded(threads) || firsts.len() <= sizes.0 {
        firsts
            .chunks_mut(sizes.0)
            .zip(seconds.chunks_mut(sizes.1))
            .enumerate()
            .for_each(fill);
    } else {
        let seconds = seconds.par_chunks_mut(sizes.1);
        firsts
            .par_chunks_mut(sizes.0)
            .zip(seconds)
            .enumerate()
            .for_each(fill);
    }
}

/// Calls `work` for each task in parallel. Each task contains the memory for its
/// output.
pub fn run_tasks<T: Send>(pieces: Vec<T>, threads: usize, work: impl Fn(T) + Sync) {
    if is_single_threaded(threads) || pieces.len() <= 1 {
        pieces.into_iter().for_each(work);
    } else {
        pieces.into_par_iter().with_max_len(1).for_each(&work);
    }
}

/// Returns the smallest number of rows of `width` values for which waking a thread
/// saves time.
pub(crate) fn rows_per_chunk(width: usize) -> usize {
    (CHUNK_VALUES / width.max(1)).max(1)
}

/// Returns the sum of a row. The function computes 16 partial sums, so that the
/// compiler can vectorise the loop.
pub(crate) fn sum_row<T: Float>(row: &[T]) -> T {
    let (chunks, rest) = row.as_chunks::<16>();
    let mut sums = [T::ZERO; 16];
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.into_iter().chain(rest.iter().copied()).sum()
}
