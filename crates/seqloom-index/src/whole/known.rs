//! What is known of a gzip file beside which its index lies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pages::PageColumn;
use crate::row::IndexRow;
use crate::side::Side;
use crate::stamp::{Change, compare};
use seqloom_compression::Compression;
use seqloom_compression::disk::Disk;
use seqloom_compression::image::IndexBytes;
use seqloom_compression::seekable::Seekable;

const SUFFIX: &str = ".sli";

/// A gzip file whose index lies beside it and is of the file as it is.
pub(super) struct Known {
    pub(super) text: Seekable,
    rows: PageColumn,
}

/// What the index of a gzip file says; nothing where there is none, or it is of no use.
pub(super) fn known(path: &Path) -> Option<Known> {
    let side = beside(path);
    let is_here = side.is_file() && path.is_file();
    let side = is_here.then(|| Disk::open(&side).ok()).flatten()?;
    let side = Side::new(IndexBytes::File(Arc::new(side))).ok()?;
    let disk = Disk::open(path).ok()?;
    let (source, rows) = (&side.head.source, side.rows());
    let is_gzip = side.head.compression == Compression::Gzip;
    if !is_gzip || disk.changed() != source.changed {
        return None;
    }
    let change = compare(&disk, source, &side.chunks, 1).ok()?;
    let text = Seekable {
        disk,
        container: side.container,
        size: side.head.text,
        image: side.image,
    };
    (change == Change::None).then_some(Known { text, rows })
}

impl Known {
    /// Where a record begins in the text.
    pub(super) fn begin_of(&self, record: u64) -> Option<u64> {
        let mut page = Vec::new();
        let is_here = record < self.rows.count;
        let first = is_here.then(|| self.rows.page(&self.text.image, record, &mut page).ok());
        let position = usize::try_from(record - first.flatten()?).ok()?;
        let row = IndexRow::from_bytes(page.chunks_exact(self.rows.entry).nth(position)?);
        row.check(self.text.size).ok().map(|()| row.begin)
    }
}

pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(SUFFIX);
    name.into()
}
