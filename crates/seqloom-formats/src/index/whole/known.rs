//! What is known of a gzip file beside which its index lies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ENOUGH, MOST};
use crate::compression::Compression;
use crate::index::disk::Disk;
use crate::index::image::Image;
use crate::index::pages::Column;
use crate::index::row::Row;
use crate::index::side::Side;
use crate::index::stamp::{Change, compare};
use crate::index::text::Text;

const SUFFIX: &str = ".sli";

/// A gzip file whose index lies beside it and is of the file as it is.
pub(super) struct Known {
    pub(super) text: Text,
    rows: Column,
    /// How many stretches of its text there may be at once.
    pub(super) ahead: usize,
}

/// What the index of a gzip file says; nothing where there is none, or it is of no use.
pub(super) fn known(path: &Path, threads: usize) -> Option<Known> {
    let side = beside(path);
    let is_here = side.is_file() && path.is_file();
    let side = is_here.then(|| Disk::open(&side).ok()).flatten()?;
    let side = Side::new(Image::File(Arc::new(side))).ok()?;
    let disk = Disk::open(path).ok()?;
    let (source, rows) = (&side.head.source, side.rows());
    let is_gzip = side.head.compression == Compression::Gzip;
    if !is_gzip || disk.changed() != source.changed {
        return None;
    }
    let change = compare(&disk, source, &side.chunks, 1).ok()?;
    let text = Text {
        disk,
        container: side.container,
        size: side.head.text,
        image: side.image,
    };
    let most = MOST / longest(&text).max(1);
    let ahead = usize::try_from(most).unwrap_or(usize::MAX).min(2 * threads);
    (change == Change::None && ahead > 1).then_some(Known { text, rows, ahead })
}

impl Known {
    /// Where a record begins in the text.
    pub(super) fn begin_of(&self, record: u64) -> Option<u64> {
        let mut page = Vec::new();
        let is_here = record < self.rows.count;
        let first = is_here.then(|| self.rows.page(&self.text.image, record, &mut page).ok());
        let place = usize::try_from(record - first.flatten()?).ok()?;
        let row = Row::from_bytes(page.chunks_exact(self.rows.entry).nth(place)?);
        row.check(self.text.size).ok().map(|()| row.begin)
    }
}

pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(SUFFIX);
    name.into()
}

/// The most text that a stretch has.
fn longest(text: &Text) -> u64 {
    let starts = text.spans().iter().map(|span| span.text);
    let ends = starts.clone().skip(1).chain([text.size]);
    let span = starts.zip(ends).map(|(start, end)| end - start).max();
    ENOUGH + span.unwrap_or(0)
}
