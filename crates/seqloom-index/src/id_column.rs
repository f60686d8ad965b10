//! Finds records by the hash of their id, in a sorted column.

use std::cmp::Ordering;

use seqloom_core::error::Fault;

use super::pages::PageColumn;
use seqloom_compression::index_bytes::IndexBytes;
use seqloom_core::number::u64_at;

/// The size in bytes of an entry, which contains the hash of the id and the number of
/// the record.
pub(crate) const ID_ENTRY_BYTES: usize = 16;

/// Returns the numbers of the records whose id has the given hash.
pub(crate) fn find_id(
    column: PageColumn,
    image: &IndexBytes,
    wanted: u64,
) -> Result<Vec<u64>, Fault> {
    let mut page = Vec::new();
    let mut at = |position: u64| -> Result<(u64, u64), Fault> {
        let first = column.page(image, position, &mut page)?;
        let within = usize::try_from(position - first).unwrap_or(usize::MAX) * ID_ENTRY_BYTES;
        Ok((u64_at(&page, within), u64_at(&page, within + 8)))
    };
    let (mut low, mut high) = (0, column.count);
    while low < high {
        let middle = low + (high - low) / 2;
        match at(middle)?.0.cmp(&wanted) {
            Ordering::Less => low = middle + 1,
            _ => high = middle,
        }
    }
    let mut numbers = Vec::new();
    while low < column.count {
        let (hash, row) = at(low)?;
        if hash != wanted {
            break;
        }
        numbers.push(row);
        low += 1;
    }
    Ok(numbers)
}
