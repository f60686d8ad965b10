//! NumPy's arrays in one zip without compression: `scores`, `ids` and `columns`.
//!
//! An array begins with its shape, which is known at the end only. Until then scores and ids are
//! in two files without a name.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use seqloom_core::{Error, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::target::TargetFile;
use crate::scores::Scores;

/// The arrays of a file, while scores come.
pub(super) struct Npz {
    target: TargetFile,
    scores: BufWriter<File>,
    ids: BufWriter<File>,
    /// Letters of the longest id.
    width: usize,
    rows: usize,
    columns: Vec<String>,
    width_of_row: usize,
}

impl Npz {
    pub(super) fn new(target: TargetFile) -> Result<Self> {
        let scratch = || {
            let file = target
                .scratch()
                .map_err(|error| Error::full(format!("no file for scores and ids: {error}")))?;
            Ok(BufWriter::with_capacity(1 << 18, file))
        };
        Ok(Self {
            scores: scratch()?,
            ids: scratch()?,
            target,
            width: 1,
            rows: 0,
            columns: Vec::new(),
            width_of_row: 0,
        })
    }

    pub(super) fn write(&mut self, columns: &[String], scores: &Scores) -> io::Result<()> {
        if self.columns.is_empty() {
            self.columns = columns.to_vec();
            self.width_of_row = scores.columns;
        }
        self.rows += scores.len();
        for value in &scores.values {
            self.scores.write_all(&value.to_le_bytes())?;
        }
        for name in scores.names.iter() {
            let name = String::from_utf8_lossy(name);
            self.width = self.width.max(name.chars().count());
            let size = u32::try_from(name.len()).unwrap_or(u32::MAX);
            self.ids.write_all(&size.to_le_bytes())?;
            self.ids.write_all(name.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let (mut scores, mut ids) = (reread(self.scores)?, reread(self.ids)?);
        let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 18, self.target));
        begin(
            &mut zip,
            "scores.npy",
            "<f4",
            &[self.rows, self.width_of_row],
        )?;
        io::copy(&mut scores, &mut zip)?;
        begin(
            &mut zip,
            "ids.npy",
            &format!("<U{}", self.width),
            &[self.rows],
        )?;
        for _ in 0..self.rows {
            zip.write_all(&code_points(&read_text(&mut ids)?, self.width))?;
        }
        let width = self.columns.iter().map(|name| name.chars().count());
        let width = width.max().unwrap_or(0).max(1);
        begin(
            &mut zip,
            "columns.npy",
            &format!("<U{width}"),
            &[self.columns.len()],
        )?;
        for column in &self.columns {
            zip.write_all(&code_points(column, width))?;
        }
        let target = zip.finish()?.into_inner();
        target.map_err(io::IntoInnerError::into_error)?.finish()
    }
}

/// What was written to a file, from its beginning.
fn reread(written: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = written
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(BufReader::with_capacity(1 << 18, file))
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
fn code_points(text: &str, width: usize) -> Vec<u8> {
    let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
    letters.take(width).flat_map(u32::to_le_bytes).collect()
}

/// Begins a file of the zip with the header of an array, whose length is a multiple of 64 bytes.
fn begin(
    zip: &mut ZipWriter<BufWriter<TargetFile>>,
    name: &str,
    kind: &str,
    shape: &[usize],
) -> io::Result<()> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file(name, options.large_file(true))?;
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = sizes.join(", ");
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape},), }}");
    let before = MAGIC.len() + size_of::<u16>();
    let size = (before + text.len() + 1).next_multiple_of(64) - before;
    zip.write_all(MAGIC)?;
    zip.write_all(&u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes())?;
    writeln!(zip, "{text:<width$}", width = size - 1)
}
