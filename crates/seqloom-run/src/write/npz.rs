//! NumPy's arrays in one zip without compression: `scores`, `ids` and `columns`.
//!
//! Scores are written as they come, under a head that is corrected at the end. Ids wait in a
//! file without a name, because the width of their column is known at the end only.

mod zip;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use seqloom_core::number::as_u64;
use seqloom_core::{Error, Result};

use self::zip::Zip;
use super::target::Target;
use crate::scores::Scores;

/// The arrays of a file, while scores come.
pub(super) struct Npz {
    zip: Zip,
    ids: io::BufWriter<File>,
    /// Letters of the longest id.
    width: usize,
    rows: usize,
    columns: Vec<String>,
    width_of_row: usize,
    bytes: Vec<u8>,
}

impl Npz {
    pub(super) fn new(target: Target) -> Result<Self> {
        let begin = || {
            let ids = io::BufWriter::new(target.scratch()?);
            let mut zip = Zip::new(target);
            zip.begin("scores.npy", &head("<f4", &[usize::MAX, usize::MAX]))?;
            Ok(Self {
                zip,
                ids,
                width: 1,
                rows: 0,
                columns: Vec::new(),
                width_of_row: 0,
                bytes: Vec::new(),
            })
        };
        begin().map_err(|error: io::Error| Error::full(format!("no file for ids: {error}")))
    }

    pub(super) fn write(&mut self, columns: &[String], scores: &Scores) -> io::Result<()> {
        if self.columns.is_empty() {
            self.columns = columns.to_vec();
            self.width_of_row = scores.columns;
        }
        self.rows += scores.len();
        self.bytes.clear();
        let values = scores.values.iter();
        self.bytes
            .extend(values.flat_map(|value| value.to_le_bytes()));
        self.zip.write(&self.bytes)?;
        for name in scores.names.iter() {
            let name = String::from_utf8_lossy(name);
            self.width = self.width.max(name.chars().count());
            let size = u32::try_from(name.len()).unwrap_or(u32::MAX);
            self.ids.write_all(&size.to_le_bytes())?;
            self.ids.write_all(name.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.zip
            .end(&head("<f4", &[self.rows, self.width_of_row]))?;
        let kind = format!("<U{}", self.width);
        let head_of_ids = head(&kind, &[self.rows]);
        self.zip.begin("ids.npy", &head_of_ids)?;
        let mut ids = self
            .ids
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        ids.rewind()?;
        let mut ids = BufReader::new(ids);
        for _ in 0..self.rows {
            self.zip.write(&points(&read_text(&mut ids)?, self.width))?;
        }
        self.zip.end(&head_of_ids)?;
        let width = self.columns.iter().map(|name| name.chars().count());
        let width = width.max().unwrap_or(0).max(1);
        let head_of_columns = head(&format!("<U{width}"), &[self.columns.len()]);
        self.zip.begin("columns.npy", &head_of_columns)?;
        for column in &self.columns {
            self.zip.write(&points(column, width))?;
        }
        self.zip.end(&head_of_columns)?;
        self.zip.finish()
    }
}

fn read_text(ids: &mut impl Read) -> io::Result<String> {
    let mut size = [0; 4];
    ids.read_exact(&mut size)?;
    let mut text = Vec::new();
    ids.take(u64::from(u32::from_le_bytes(size)))
        .read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A text as so many code points.
fn points(text: &str, width: usize) -> Vec<u8> {
    let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
    letters.take(width).flat_map(u32::to_le_bytes).collect()
}

/// The first bytes of an array, as many for every shape.
fn head(kind: &str, shape: &[usize]) -> Vec<u8> {
    const SIZE: usize = 192;
    const BEFORE: usize = 10;
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let text = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({},), }}",
        sizes.join(", ")
    );
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    let rest = u16::try_from(SIZE - BEFORE).unwrap_or_default();
    head.extend_from_slice(&rest.to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head.resize(SIZE - 1, b' ');
    head.push(b'\n');
    head
}

/// Sizes and positions in a file.
fn position(size: usize) -> u64 {
    as_u64(size)
}
