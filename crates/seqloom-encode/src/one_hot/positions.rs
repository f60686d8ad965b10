//! One-hot encoding with channels last. The channels of each residue are copied from a
//! table.

use super::OneHot;
use crate::ElementBits;

impl<T: ElementBits> OneHot<T> {
    /// Encodes a sequence by copying the channels of each residue from the table.
    #[inline(always)]
    pub(super) fn fill_positions(&self, letters: &[u8], row: &mut [T]) {
        match self.channels() {
            4 => self.copy_channels::<4>(letters, row),
            20 => self.copy_channels::<20>(letters, row),
            width => {
                let (used, rest) = row.split_at_mut(letters.len() * width);
                for (position, letter) in used.chunks_exact_mut(width).zip(letters) {
                    position.copy_from_slice(self.byte_channels(*letter));
                }
                rest.fill(T::from_bits(0));
            }
        }
    }

    /// Does the same as [`fill_positions`](Self::fill_positions), for a number of
    /// channels that is a compile-time constant.
    #[inline(always)]
    fn copy_channels<const WIDTH: usize>(&self, letters: &[u8], row: &mut [T]) {
        let (rows, _) = self.rows.as_chunks::<WIDTH>();
        let (positions, _) = row.as_chunks_mut::<WIDTH>();
        let (used, rest) = positions.split_at_mut(letters.len());
        let Some(rows) = rows.first_chunk::<256>() else {
            return;
        };
        for (position, letter) in used.iter_mut().zip(letters) {
            *position = rows[usize::from(*letter)];
        }
        rest.fill([T::from_bits(0); WIDTH]);
    }
}
