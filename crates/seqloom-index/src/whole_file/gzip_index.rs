//! A gzip file and the index next to it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file_changes::{Change, compare_with_stamp};
use crate::{index_file::IndexFile, pages::PageColumn, row::IndexRow};
use seqloom_compression::seekable::SeekableText;
use seqloom_compression::{Compression, disk::DiskFile, index_bytes::IndexBytes};

const INDEX_SUFFIX: &str = ".sli";

/// A gzip file that has not changed since it was indexed.
pub(super) struct GzipIndex {
    pub(super) text: SeekableText,
    rows: PageColumn,
}

/// Opens the index of a gzip file; returns `None` if there is no index or the file has
/// changed.
pub(super) fn open_index(path: &Path) -> Option<GzipIndex> {
    let side = index_path(path);
    let exists = side.is_file() && path.is_file();
    let side = exists.then(|| DiskFile::open(&side).ok()).flatten()?;
    let side = IndexFile::new(IndexBytes::File(Arc::new(side))).ok()?;
    let disk = DiskFile::open(path).ok()?;
    let (source, rows) = (&side.head.source, side.row_column());
    let is_gzip = side.head.compression == Compression::Gzip;
    if !is_gzip || disk.modification_time() != source.changed {
        return None;
    }
    let change = compare_with_stamp(&disk, source, &side.chunks, 1).ok()?;
    let text = SeekableText {
        disk,
        container: side.container,
        size: side.head.text,
        image: side.image,
    };
    (change == Change::None).then_some(GzipIndex { text, rows })
}

impl GzipIndex {
    /// Returns the offset of a record in the text.
    pub(super) fn record_offset(&self, record: u64) -> Option<u64> {
        let mut page = Vec::new();
        let exists = record < self.rows.count;
        let first = exists.then(|| self.rows.page(&self.text.image, record, &mut page).ok());
        let position = usize::try_from(record - first.flatten()?).ok()?;
        let row = IndexRow::from_bytes(page.chunks_exact(self.rows.entry).nth(position)?);
        row.check_bounds(self.text.size).ok().map(|()| row.begin)
    }
}

pub(super) fn index_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(INDEX_SUFFIX);
    name.into()
}
