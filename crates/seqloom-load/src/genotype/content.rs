//! A hash of the content of a file.

use rayon::prelude::*;
use seqloom_core::Result;
use seqloom_plink::Bed;
use xxhash_rust::xxh3::xxh3_128;

use super::progress::Progress;

/// Size in bytes of a chunk that one thread hashes.
const CONTENT_CHUNK_BYTES: u64 = 1 << 20;

/// Hashes a file. The hash depends only on the bytes of the file, not on the machine or the
/// number of threads.
pub fn hash_file(bed: &Bed, progress: &Progress) -> Result<u128> {
    let size = bed.size()?;
    let one = |number: u64| -> Result<[u8; 16]> {
        let start = number * CONTENT_CHUNK_BYTES;
        let length = usize::try_from(CONTENT_CHUNK_BYTES.min(size - start)).unwrap_or(0);
        let mut bytes = vec![0; length];
        bed.read_at(start, &mut bytes)?;
        progress.add_bytes(length)?;
        Ok(xxh3_128(&bytes).to_le_bytes())
    };
    let count = size.div_ceil(CONTENT_CHUNK_BYTES);
    let hashes: Vec<[u8; 16]> = if rayon::current_thread_index().is_none() {
        (0..count).map(one).collect::<Result<_>>()?
    } else {
        (0..count).into_par_iter().map(one).collect::<Result<_>>()?
    };
    Ok(xxh3_128(hashes.as_flattened()))
}
