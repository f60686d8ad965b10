//! Cutting a kernel's output into pieces, and filling them side by side.

use rayon::prelude::*;

use crate::Float;
use crate::tuned::{CHUNK, WAKE_NS};

/// How many of the threads offered are worth waking for work that takes one of them about
/// so many nanoseconds.
pub fn worth_waking(threads: usize, nanoseconds: usize) -> usize {
    if nanoseconds < WAKE_NS { 1 } else { threads }
}

/// Whether work is done by the calling thread: also outside a pool, where rayon would build
/// its global one, which nobody owns.
pub fn is_alone(threads: usize) -> bool {
    // WebAssembly has one thread, and its modules need no code for more.
    cfg!(target_family = "wasm") || threads <= 1 || rayon::current_thread_index().is_none()
}

/// Fills an output in chunks of `size`, each told its number. One thread takes them in
/// order and leaves rayon alone.
pub(crate) fn chunks<T: Send>(
    out: &mut [T],
    size: usize,
    threads: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) {
    chunks_by(out, size, threads, &fill);
}

/// [`chunks`] without the type of the function, so that it is compiled once for each type of
/// numbers.
fn chunks_by<T: Send>(
    out: &mut [T],
    size: usize,
    threads: usize,
    fill: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let size = size.max(1);
    if is_alone(threads) || out.len() <= size {
        out.chunks_mut(size)
            .enumerate()
            .for_each(|(number, chunk)| fill(number, chunk));
    } else {
        out.par_chunks_mut(size)
            .enumerate()
            .for_each(|(number, chunk)| fill(number, chunk));
    }
}

/// Fills two outputs in step: chunk for chunk, of `sizes`.
pub(crate) fn chunk_pairs<T: Send, U: Send>(
    (firsts, seconds): (&mut [T], &mut [U]),
    sizes: (usize, usize),
    threads: usize,
    fill: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    chunk_pairs_by((firsts, seconds), sizes, threads, &fill);
}

/// What fills a chunk of each output, given their number.
type FillPair<'a, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'a;

/// [`chunk_pairs`] without the type of the function.
fn chunk_pairs_by<T: Send, U: Send>(
    (firsts, seconds): (&mut [T], &mut [U]),
    sizes: (usize, usize),
    threads: usize,
    fill: &FillPair<'_, T, U>,
) {
    let sizes = (sizes.0.max(1), sizes.1.max(1));
    let fill =
        |(number, (first, second)): (usize, (&mut [T], &mut [U]))| fill(number, first, second);
    if is_alone(threads) || firsts.len() <= sizes.0 {
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

/// Does pieces of work that know what they write to.
pub fn each<T: Send>(pieces: Vec<T>, threads: usize, work: impl Fn(T) + Sync) {
    if is_alone(threads) || pieces.len() <= 1 {
        pieces.into_iter().for_each(work);
    } else {
        pieces.into_par_iter().with_max_len(1).for_each(&work);
    }
}

/// How many rows of `width` numbers make a chunk that is worth a thread's waking.
pub(crate) fn rows_per_chunk(width: usize) -> usize {
    (CHUNK / width.max(1)).max(1)
}

/// The sum of a row, in sixteen sums side by side.
pub(crate) fn sum<T: Float>(row: &[T]) -> T {
    let (chunks, rest) = row.as_chunks::<16>();
    let mut sums = [T::ZERO; 16];
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.into_iter().chain(rest.iter().copied()).sum()
}
