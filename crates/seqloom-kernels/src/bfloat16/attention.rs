//! Attention within sequences that lie end to end.
//!
//! A query stands in each lane, as in the kernel of float32. A tile of keys gives scores in
//! float32, the scores weights, which are rounded to bfloat16, and those times the values
//! answers in float32 before the next tile comes.

use super::Machine;
use super::x86::{Group, LANES, attend, narrow};
use crate::product::transpose;
use crate::{Float, parallel};

/// Heads' numbers: a row for each position, the heads side by side or further apart.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'a> {
    /// Pairs of numbers, from the first head's first row on.
    pairs: &'a [u32],
    /// Pairs from one row to the next, and from one head to the next.
    steps: [usize; 2],
}

/// What attention is paid to.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// The one that computes.
    pub machine: Machine,
    /// Queries, keys and values.
    pub parts: [Heads<'a>; 3],
    /// Heads.
    pub heads: usize,
    /// Pairs of a head's row.
    pub depth: usize,
    /// What the products of queries and keys are multiplied by; it is positive.
    pub scale: f32,
}

impl Attention<'_> {
    /// Fills the answers (position, head, number), and the logarithms of the sums of
    /// exponentials (position, head). Sequence i goes from the position `bounds[i]` to
    /// `bounds[i + 1]`; the bounds rise from 0 to the number of positions.
    pub fn answer(&self, bounds: &[usize], out: &mut [u16], sums: &mut [f32], threads: usize) {
        let (width, step) = (2 * self.depth * self.heads, step(threads));
        let (mut out, mut sums, mut pieces) = (out, sums, Vec::new());
        for bounds in bounds.windows(2) {
            for first in (bounds[0]..bounds[1]).step_by(step) {
                let count = step.min(bounds[1] - first);
                pieces.push(Piece {
                    start: bounds[0],
                    keys: bounds[1] - bounds[0],
                    first,
                    count,
                    head: 0,
                    out: out.split_off_mut(..count * width).unwrap_or_default(),
                    sums: sums.split_off_mut(..count * self.heads).unwrap_or_default(),
                });
            }
        }
        parallel::each(pieces, threads, |piece| self.fill(piece));
    }

    /// Answers some queries of a sequence, head by head.
    fn fill(&self, mut piece: Piece<'_>) {
        let size = piece.keys.next_multiple_of(KEYS) * self.depth;
        let group = QUERIES * (5 * self.depth + 2);
        f32::with_scratch(2 * size + group, |scratch| {
            let (packed, group) = scratch.split_at_mut(2 * size);
            let (keys, values) = bytemuck::cast_slice_mut(packed).split_at_mut(size);
            for head in 0..self.heads {
                let [queries, old_keys, old_values] = self.parts.map(|part| part.of(head));
                old_keys
                    .rows(piece.start)
                    .pack_keys(self.depth, keys, piece.keys);
                old_values
                    .rows(piece.start)
                    .pack_values(self.depth, values, piece.keys);
                let queries = queries.rows(piece.first);
                piece.head = head;
                self.answer_groups(queries, (keys, values), group, &mut piece);
            }
        });
    }

    /// Answers the queries of a head, as many as registers have lanes.
    fn answer_groups(
        &self,
        queries: Heads<'_>,
        (keys, values): (&[u32], &[u32]),
        scratch: &mut [f32],
        piece: &mut Piece<'_>,
    ) {
        for first in (0..piece.count).step_by(QUERIES) {
            let count = QUERIES.min(piece.count - first);
            let size = count.next_multiple_of(LANES);
            let (panel, rest) = scratch.split_at_mut(size * self.depth);
            let (answers, rest) = rest.split_at_mut(2 * size * self.depth);
            let (sums, turned) = rest.split_at_mut(size);
            queries.rows(first).pack(self.depth, size, count, panel);
            attend(
                self.machine,
                Group {
                    queries: bytemuck::cast_slice(panel),
                    keys,
                    values,
                    count: piece.keys,
                    scale: self.scale * std::f32::consts::LOG2_E,
                    answers,
                    sums,
                },
            );
            self.put((answers, sums), turned, first..first + count, piece);
        }
    }
}

impl Attention<'_> {
    /// Puts the answers of some queries, of which those of a column lie side by side.
    fn put(
        &self,
        (answers, sums): (&[f32], &[f32]),
        turned: &mut [f32],
        queries: std::ops::Range<usize>,
        piece: &mut Piece<'_>,
    ) {
        let width = 2 * self.depth;
        let turned = &mut turned[..sums.len() * width];
        transpose(answers, sums.len(), width, width, turned);
        let rows = turned.chunks_exact(width).zip(sums);
        for (query, (row, &sum)) in queries.zip(rows) {
            let place = query * self.heads + piece.head;
            narrow(self.machine, row, &mut piece.out[place * width..][..width]);
            piece.sums[place] = sum;
        }
    }
}

/// Queries that are answered at once, keys and values packed again for each such few.
fn step(threads: usize) -> usize {
    if parallel::is_alone(threads) {
        1024
    } else {
        256
    }
}

/// Queries in the lanes of two registers.
const QUERIES: usize = 2 * LANES;

/// Keys of a tile.
pub(super) const KEYS: usize = 8;

/// Some queries of a sequence, and where their answers go.
struct Piece<'a> {
    /// The sequence's first position, and how many it has.
    start: usize,
    keys: usize,
    /// The position of the first query, and how many there are.
    first: usize,
    count: usize,
    /// The head whose turn it is.
    head: usize,
    out: &'a mut [u16],
    sums: &'a mut [f32],
}

impl<'a> Heads<'a> {
    /// Numbers from the first head's first row on, a row every `row_step` and a head every
    /// `head_step`; None where they are no pairs at addresses of whole words.
    pub fn new(numbers: &'a [u16], row_step: usize, head_step: usize) -> Option<Self> {
        let are_pairs = row_step.is_multiple_of(2) && head_step.is_multiple_of(2);
        let pairs = bytemuck::try_cast_slice(numbers).ok();
        let steps = [(row_step / 2).max(1), head_step / 2];
        are_pairs.then_some(Self {
            pairs: pairs?,
            steps,
        })
    }

    /// One head.
    fn of(self, head: usize) -> Self {
        let pairs = self.pairs.get(head * self.steps[1]..);
        Self {
            pairs: pairs.unwrap_or_default(),
            ..self
        }
    }

    /// The rows from `first` on.
    fn rows(self, first: usize) -> Self {
        let pairs = self.pairs.get(first * self.steps[0]..);
        Self {
            pairs: pairs.unwrap_or_default(),
            ..self
        }
    }

    /// Lays `count` rows side by side, zeros beyond them: a line of `width` for each pair.
    fn pack(self, depth: usize, width: usize, count: usize, out: &mut [f32]) {
        if count < width {
            out.fill(0.0);
        }
        // Pairs are moved as floats, whose bits a move does not change.
        let pairs = bytemuck::cast_slice(self.pairs);
        transpose(
            pairs,
            self.steps[0],
            count,
            width,
            &mut out[..width * depth],
        );
    }

    /// Copies so many keys, and zeros to the end of a tile.
    fn pack_keys(self, depth: usize, out: &mut [u32], count: usize) {
        let (out, rest) = out.split_at_mut(count * depth);
        let rows = self.pairs.chunks(self.steps[0]);
        for (out, row) in out.chunks_exact_mut(depth).zip(rows) {
            out.copy_from_slice(&row[..depth]);
        }
        rest.fill(0);
    }

    /// Packs so many values: of each two keys the pairs of their numbers.
    fn pack_values(self, depth: usize, out: &mut [u32], count: usize) {
        let zeros = vec![0; depth];
        let rows = self.pairs.chunks(self.steps[0]).take(count);
        let mut rows = rows.map(|row| &row[..depth]);
        for out in out.chunks_exact_mut(2 * depth) {
            let [first, second] = [(); 2].map(|()| rows.next().unwrap_or(&zeros));
            join(first, second, out);
        }
    }
}

/// Makes pairs of the numbers of two rows.
fn join(first: &[u32], second: &[u32], out: &mut [u32]) {
    let [first, second]: [&[u16]; 2] = [first, second].map(bytemuck::cast_slice);
    let (pairs, _) = bytemuck::cast_slice_mut(out).as_chunks_mut::<2>();
    for ((pair, &low), &high) in pairs.iter_mut().zip(first).zip(second) {
        *pair = [low, high];
    }
}
