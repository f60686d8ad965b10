//! Writes `scores`, `ids` and `columns` as an uncompressed `.npz` file.
//!
//! The header of an array contains its shape, which is known only after the last
//! record. Before the last record, scores and ids are stored in two unnamed temporary
//! files.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use seqloom_core::{Error, Result, interrupt::check_signals};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::target::TargetFile;
use crate::scores::Scores;

/// The number of bytes that are copied between two checks for a signal.
const COPY_CHUNK_BYTES: u64 = 8 << 20;

/// An `.npz` file that is being written.
pub(super) struct Npz {
    target: TargetFile,
    scores: BufWriter<File>,
    ids: BufWriter<File>,
    /// The length in characters of the longest id.
    id_width: usize,
    rows: usize,
    columns: Vec<String>,
    score_columns: usize,
}

impl Npz {
    pub(super) fn new(target: TargetFile) -> Result<Self> {
        let unnamed_file = || {
            let file = target
                .unnamed_file()
                .map_err(|error| Error::full(format!("no temporary file for scores: {error}")))?;
            Ok(BufWriter::with_capacity(1 << 18, file))
        };
        Ok(Self {
            scores: unnamed_file()?,
            ids: unnamed_file()?,
            target,
            id_width: 1,
            rows: 0,
            columns: Vec::new(),
            score_columns: 0,
        })
    }

    pub(super) fn write(&mut self, columns: &[String], scores: &Scores) -> io::Result<()> {
        if self.columns.is_empty() {
            self.columns = columns.to_vec();
            self.score_columns = scores.columns;
        }
        self.rows += scores.len();
        for value in &scores.values {
            self.scores.write_all(&value.to_le_bytes())?;
        }
        for name in scores.names.iter() {
            let name = String::from_utf8_lossy(name);
            self.id_width = self.id_width.max(name.chars().count());
            let size = u32::try_from(name.len()).map_err(io::Error::other)?;
            self.ids.write_all(&size.to_le_bytes())?;
            self.ids.write_all(name.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let (mut scores, mut ids) = (rewind(self.scores)?, rewind(self.ids)?);
        let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 18, self.target));
        let shape = [self.rows, self.score_columns];
        start_array(&mut zip, "scores.npy", "<f4", &shape)?;
        while io::copy(&mut (&mut scores).take(COPY_CHUNK_BYTES), &mut zip)? > 0 {
            check_signals()?;
        }
        let dtype = format!("<U{}", self.id_width);
        start_array(&mut zip, "ids.npy", &dtype, &[self.rows])?;
        for _ in 0..self.rows {
            check_signals()?;
            zip.write_all(&code_points(&read_text(&mut ids)?, self.id_width))?;
        }
        let widths = self.columns.iter().map(|name| name.chars().count());
        let width = widths.max().unwrap_or(0).max(1);
        let (dtype, shape) = (format!("<U{width}"), [self.columns.len()]);
        start_array(&mut zip, "columns.npy", &dtype, &shape)?;
        for column in &self.columns {
            zip.write_all(&code_points(column, width))?;
        }
        let target = zip.finish()?.into_inner();
        target.map_err(io::IntoInnerError::into_error)?.finish()
    }
}

/// Flushes a temporary file, and returns a reader at its start.
fn rewind(written: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = written
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(BufReader::with_capacity(1 << 18, file))
}

fn read_text(ids: &mut impl Read) -> io::Result<String> {
    let mut size = [0; 4];
    ids.read_exact(&mut size)?;
    let mut text = vec![0; u32::from_le_bytes(size) as usize];
    ids.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes a string as `width` Unicode code points, padded with zeros.
fn code_points(text: &str, width: usize) -> Vec<u8> {
    let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
    letters.take(width).flat_map(u32::to_le_bytes).collect()
}

/// Begins an array of the zip file with its header, which is padded to a multiple of 64
/// bytes.
fn start_array(
    zip: &mut ZipWriter<BufWriter<TargetFile>>,
    name: &str,
    dtype: &str,
    shape: &[usize],
) -> io::Result<()> {
    const NPY_MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file(name, options.large_file(true))?;
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = sizes.join(", ");
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape},), }}");
    let before = NPY_MAGIC.len() + size_of::<u16>();
    let size = (before + header.len() + 1).next_multiple_of(64) - before;
    zip.write_all(NPY_MAGIC)?;
    zip.write_all(&u16::try_from(size).map_err(io::Error::other)?.to_le_bytes())?;
    writeln!(zip, "{header:<width$}", width = size - 1)
}
