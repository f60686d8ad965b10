//! The `predict_files` command, which scores every record once, in input order.

use std::cell::Cell;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use seqloom_run::{Error, Result, ScoreFormat, ScoreWriter, format_thousands};

use super::arguments::CommandLine;
use super::{CommandOutcome, print_message};

/// Scores the files. The scores are written while they are computed, or as one file at
/// the end.
pub(super) fn predict_files(arguments: &CommandLine) -> Result<CommandOutcome> {
    check_output_path(arguments)?;
    let model = arguments.open_model()?;
    let is_broken = Cell::new(false);
    let mut writer = open_writer(arguments, &is_broken)?;
    let scored = model.predict(&arguments.files, &arguments.options, |columns, scores| {
        writer.write(columns, scores)
    });
    if is_broken.get() {
        return Ok(CommandOutcome::OutputClosed);
    }
    let summary = scored?;
    writer.finish()?;
    let place = if arguments.writes_to_stdout() {
        "standard output".into()
    } else {
        arguments.out.to_string_lossy()
    };
    for warning in &summary.warnings {
        print_message(&format!("warning: {warning}"));
    }
    if !arguments.quiet {
        let count = format_thousands(summary.records);
        print_message(&format!("scored {count} {}: {place}", model.noun()));
    }
    Ok(CommandOutcome::Done)
}

fn open_writer<'a>(arguments: &CommandLine, is_broken: &'a Cell<bool>) -> Result<ScoreWriter<'a>> {
    let format = arguments.format;
    if arguments.writes_to_stdout() {
        let stream = Stdout {
            stream: io::stdout(),
            is_broken,
        };
        return ScoreWriter::to_stream(stream, format.unwrap_or(ScoreFormat::Tsv));
    }
    let format = match format {
        Some(format) => format,
        None => ScoreFormat::from_path(&arguments.out)?,
    };
    ScoreWriter::to_file(&arguments.out, format)
}

/// Standard output, with a flag that is set when its reader has closed it.
struct Stdout<'a> {
    stream: io::Stdout,
    is_broken: &'a Cell<bool>,
}

impl Stdout<'_> {
    fn note_closed<T>(&self, done: io::Result<T>) -> io::Result<T> {
        let is_broken = done
            .as_ref()
            .is_err_and(|it| it.kind() == ErrorKind::BrokenPipe);
        self.is_broken.set(self.is_broken.get() || is_broken);
        done
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.stream.write(bytes);
        self.note_closed(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.stream.flush();
        self.note_closed(done)
    }
}

/// Checks that the output file can be written, before any record is scored.
fn check_output_path(arguments: &CommandLine) -> Result<()> {
    if arguments.writes_to_stdout() {
        return Ok(());
    }
    let out = &arguments.out;
    let target = std::fs::canonicalize(out).unwrap_or_else(|_| out.clone());
    let bad = |message: String| Err(Error::argument(format!("{}: {message}", out.display())));
    if is_device_path(&std::path::absolute(out).unwrap_or_default()) || is_device_path(&target) {
        return bad(
            "cannot be written to; --out needs a file name, or - for standard output".into(),
        );
    }
    if target.exists() && !target.is_file() {
        return bad("is not a regular file; --out must be the table to write".into());
    }
    let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return bad(format!(
            "there is no folder {}; create it first",
            folder.display()
        ));
    }
    if arguments
        .files
        .iter()
        .any(|file| is_same_file(file, &target))
    {
        return bad("is one of the files to read; --out must be another file".into());
    }
    if target.is_file() && !arguments.overwrite {
        return bad("already exists; --overwrite replaces it".into());
    }
    Ok(())
}

/// Returns true if a path is in `/dev` or `/proc`, but not in the shared memory
/// `/dev/shm`.
fn is_device_path(path: &Path) -> bool {
    let is_memory = path.starts_with("/dev/shm");
    path.starts_with("/dev") && !is_memory || path.starts_with("/proc")
}

fn is_same_file(file: &Path, target: &Path) -> bool {
    std::fs::canonicalize(file).is_ok_and(|file| file == target)
}
