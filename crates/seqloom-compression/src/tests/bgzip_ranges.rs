//! Tests of ranges of bgzip files.

use std::path::{Path, PathBuf};

use super::bgzip_block;
use crate::bgzip_ranges::{BgzipRanges, VirtualRange};
use crate::disk::DiskFile;
use crate::text::{ReadError, TextSource};

/// Writes blocks with the texts, and returns the path and the offset of each block.
fn write_blocks(name: &str, texts: &[&[u8]]) -> (PathBuf, Vec<u64>) {
    let path = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
    let (mut data, mut offsets) = (Vec::new(), Vec::new());
    for text in texts {
        offsets.push(data.len() as u64);
        data.extend_from_slice(&bgzip_block(text));
    }
    std::fs::write(&path, data).unwrap();
    (path, offsets)
}

fn read(path: &Path, ranges: &[VirtualRange]) -> Result<Vec<u8>, ReadError> {
    let disk = DiskFile::open(path).unwrap();
    let mut text = BgzipRanges::new(disk, ranges.to_vec()).unwrap();
    let mut out = Vec::new();
    loop {
        let chunk = text.fill_buffer()?;
        if chunk.is_empty() {
            return Ok(out);
        }
        out.extend_from_slice(chunk);
        let size = chunk.len();
        text.consume(size);
    }
}

#[test]
fn the_text_of_ranges_is_returned_in_order() {
    let (path, at) = write_blocks("order", &[b"abcd", b"", b"efgh", b"ij", b""]);
    let ranges = [
        (at[0] << 16 | 1, at[0] << 16 | 2),
        (at[0] << 16 | 3, at[2] << 16 | 2),
        (at[2] << 16 | 2, at[4] << 16),
    ];
    assert_eq!(read(&path, &ranges).unwrap(), b"bdefghij");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_range_that_the_file_lacks_is_an_error() {
    let (path, at) = write_blocks("lacks", &[b"abcd", b"efgh", b""]);
    for range in [
        (at[0] << 16 | 5, at[1] << 16),
        (at[0] << 16, at[1] << 16 | 5),
        (at[0] << 16, (at[1] + 3) << 16),
        ((at[1] + 3) << 16, at[2] << 16),
        (at[1] << 16, 1 << 40),
    ] {
        assert!(read(&path, &[range]).is_err(), "{range:?}");
    }
    std::fs::remove_file(path).unwrap();
}
