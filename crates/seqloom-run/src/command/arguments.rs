//! The words of a command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lexopt::{Arg, Parser, ValueExt};
use seqloom_run::graph::{Export, Limits};
use seqloom_run::{Error, PredictOptions, Predictor, Result, ScoreFormat};
use seqloom_sequences::options::{Comments, MissingIds, QualityEncoding, Whitespace};

use super::{size, threads};

/// The command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    Predict,
    Inspect,
    Bench,
    Help,
    Version,
}

/// The command with its arguments and options.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) wanted: CommandKind,
    pub(super) export: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) out: PathBuf,
    pub(super) format: Option<ScoreFormat>,
    pub(super) overwrite: bool,
    pub(super) quiet: bool,
    pub(super) threads: usize,
    /// Bytes that records and arrays may take.
    pub(super) memory: Option<usize>,
    pub(super) options: PredictOptions,
}

/// The path that stands for standard input and output.
pub(super) const STREAM: &str = "-";
/// As many as `seqloom` takes.
pub(super) const MOST_THREADS: usize = 256;
/// Of the memory, records that wait take this part.
const SHARE: usize = 4;

impl CommandLine {
    /// Reads the words; what is wrong with them is an error that says where the help is.
    pub(super) fn parse(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let parsed = Self::read(words);
        let parsed = parsed.and_then(Self::checked);
        parsed.map_err(|error| {
            Error::argument(format!("{error}\nseqloom-run --help lists the options"))
        })
    }

    fn new() -> Self {
        Self {
            wanted: CommandKind::Predict,
            export: PathBuf::new(),
            files: Vec::new(),
            out: STREAM.into(),
            format: None,
            overwrite: false,
            quiet: false,
            threads: 0,
            memory: None,
            options: PredictOptions::default(),
        }
    }

    fn read(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut arguments = Self::new();
        let mut paths: Vec<OsString> = Vec::new();
        let mut parser = Parser::from_args(words);
        let mut threads = None;
        while let Some(word) = parser.next().map_err(wrong)? {
            match word {
                Arg::Short('h') | Arg::Long("help") => return Ok(arguments.to(CommandKind::Help)),
                Arg::Short('V') | Arg::Long("version") => {
                    return Ok(arguments.to(CommandKind::Version));
                }
                Arg::Long("threads") => threads = Some(whole("--threads", &mut parser)?),
                Arg::Long(name) => {
                    let name = name.to_owned();
                    arguments.take(&name, &mut parser)?;
                }
                Arg::Value(word) => paths.push(word),
                Arg::Short(letter) => return Err(unknown(&format!("-{letter}"))),
            }
        }
        arguments.threads = threads::count(threads)?;
        arguments.name(paths);
        Ok(arguments)
    }

    fn to(mut self, wanted: CommandKind) -> Self {
        self.wanted = wanted;
        self
    }

    /// Takes an option, and what stands behind it.
    fn take(&mut self, name: &str, parser: &mut Parser) -> Result<()> {
        let reading = &mut self.options.reading;
        match name {
            "overwrite" => self.overwrite = true,
            "quiet" => self.quiet = true,
            "interleaved" => self.options.interleaved = true,
            "out" => self.out = parser.value().map_err(wrong)?.into(),
            "format" => self.format = Some(ScoreFormat::from_str(&text(parser)?)?),
            "memory" => self.memory = Some(size::parse(&text(parser)?)?),
            "quality" => reading.quality = QualityEncoding::named(&text(parser)?)?,
            "comments" => reading.comments = Comments::named(&text(parser)?)?,
            "whitespace" => reading.whitespace = Whitespace::named(&text(parser)?)?,
            "ids" => reading.ids = MissingIds::named(&text(parser)?)?,
            _ => return Err(unknown(&format!("--{name}"))),
        }
        Ok(())
    }

    /// Tells the command, the model and the files apart.
    fn name(&mut self, paths: Vec<OsString>) {
        let mut paths = paths.into_iter().peekable();
        let command = paths.peek().and_then(|word| command_of(word));
        if let Some(command) = command {
            self.wanted = command;
            paths.next();
        }
        self.export = paths.next().unwrap_or_default().into();
        self.files = paths.map(PathBuf::from).collect();
    }

    /// Refuses what does not go together.
    fn checked(mut self) -> Result<Self> {
        if matches!(self.wanted, CommandKind::Help | CommandKind::Version) {
            return Ok(self);
        }
        if self.export.as_os_str().is_empty() {
            return Err(Error::argument("EXPORT is missing: a folder or a .zip"));
        }
        match self.wanted {
            CommandKind::Inspect if !self.files.is_empty() => {
                return Err(Error::argument("inspect reads no files but EXPORT"));
            }
            CommandKind::Predict | CommandKind::Bench if self.files.is_empty() => {
                return Err(Error::argument(
                    "FILES are missing: FASTA, FASTQ, a .bed, or - for standard input",
                ));
            }
            _ => {}
        }
        if let Some(memory) = self.memory {
            self.options.window = memory / SHARE;
        }
        Ok(self)
    }

    /// Opens the model.
    pub(super) fn open(&self) -> Result<Predictor> {
        let limits = self.limits();
        Predictor::new(
            Export::open_within(&self.export, limits)?,
            limits,
            self.threads,
        )
    }

    /// How much the model may use.
    pub(super) fn limits(&self) -> Limits {
        let usual = Limits::default();
        self.memory
            .map_or(usual, |memory_bytes| Limits { memory_bytes })
    }

    /// Whether scores go to standard output.
    pub(super) fn streams(&self) -> bool {
        self.out == Path::new(STREAM)
    }
}

fn command_of(word: &OsStr) -> Option<CommandKind> {
    match word.to_str()? {
        "predict" => Some(CommandKind::Predict),
        "inspect" => Some(CommandKind::Inspect),
        "bench" => Some(CommandKind::Bench),
        "help" => Some(CommandKind::Help),
        _ => None,
    }
}

fn text(parser: &mut Parser) -> Result<String> {
    let value = parser.value().map_err(wrong)?;
    value.string().map_err(wrong)
}

fn whole(name: &str, parser: &mut Parser) -> Result<usize> {
    let value = text(parser)?;
    let count: Option<usize> = value.parse().ok();
    count
        .filter(|count| (1..=MOST_THREADS).contains(count))
        .ok_or_else(|| {
            Error::argument(format!(
                "{name} must be an integer from 1 to {MOST_THREADS}, got {value:?}"
            ))
        })
}

fn unknown(option: &str) -> Error {
    Error::argument(format!(
        "unknown option {option}; a file of that name is ./{option}"
    ))
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn wrong(error: lexopt::Error) -> Error {
    Error::argument(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine> {
        CommandLine::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_short_form_predicts_to_standard_output() {
        let found = parse("m.zip a.fa -").unwrap();
        assert_eq!(
            (found.wanted, found.streams()),
            (CommandKind::Predict, true)
        );
        assert_eq!(found.export, Path::new("m.zip"));
        assert_eq!(found.files, [Path::new("a.fa"), Path::new("-")]);
    }

    #[test]
    fn options_stand_anywhere() {
        let found = parse("predict --threads 3 m a.fa --out b.npz --memory 1600 --quiet").unwrap();
        assert_eq!((found.threads, found.options.window), (3, 400));
        assert!(found.quiet && !found.overwrite && !found.streams());
    }

    #[test]
    fn wrong_words_are_errors_that_name_the_help() {
        for line in [
            "",
            "m",
            "predict m",
            "m a --no",
            "m a --threads 0",
            "inspect m a",
            "m a -x",
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains("seqloom-run --help"), "{line}: {error}");
        }
    }
}
