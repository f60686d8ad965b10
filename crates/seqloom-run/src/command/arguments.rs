//! The arguments of the command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lexopt::{Arg, Parser, ValueExt};
use seqloom_run::graph::{Export, Limits};
use seqloom_run::{Error, PredictOptions, Predictor, Result, ScoreFormat};
use seqloom_sequences::options::{Comments, MissingIds, QualityEncoding, Whitespace};

use super::{size, threads};

/// The subcommand to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    Predict,
    Inspect,
    Bench,
    Help,
    Version,
}

/// The parsed command line: the command, its arguments and its options.
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
    /// The memory limit for records and arrays in bytes.
    pub(super) memory: Option<usize>,
    pub(super) options: PredictOptions,
}

/// The path `-`, which means standard input or standard output.
pub(super) const STREAM_PATH: &str = "-";
/// The maximum number of threads, as in the Python package.
pub(super) const MAX_THREADS: usize = 256;
/// The memory limit divided by this number is the limit for records that wait to be
/// scored.
const WINDOW_MEMORY_DIVISOR: usize = 4;

impl CommandLine {
    /// Parses the command line. Error messages mention `--help`.
    pub(super) fn parse(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let parsed = Self::parse_words(words);
        let parsed = parsed.and_then(Self::check_arguments);
        parsed.map_err(|error| {
            Error::argument(format!("{error}\nseqloom-run --help lists the options"))
        })
    }

    fn new() -> Self {
        Self {
            wanted: CommandKind::Predict,
            export: PathBuf::new(),
            files: Vec::new(),
            out: STREAM_PATH.into(),
            format: None,
            overwrite: false,
            quiet: false,
            threads: 0,
            memory: None,
            options: PredictOptions::default(),
        }
    }

    fn parse_words(words: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut arguments = Self::new();
        let mut paths: Vec<OsString> = Vec::new();
        let mut parser = Parser::from_args(words);
        let mut threads = None;
        while let Some(word) = parser.next().map_err(argument_error)? {
            match word {
                Arg::Short('h') | Arg::Long("help") => {
                    return Ok(arguments.with_command(CommandKind::Help));
                }
                Arg::Short('V') | Arg::Long("version") => {
                    return Ok(arguments.with_command(CommandKind::Version));
                }
                Arg::Long("threads") => threads = Some(parse_integer("--threads", &mut parser)?),
                Arg::Long(name) => {
                    let name = name.to_owned();
                    arguments.take_option(&name, &mut parser)?;
                }
                Arg::Value(word) => paths.push(word),
                Arg::Short(letter) => return Err(unknown_option_error(&format!("-{letter}"))),
            }
        }
        arguments.threads = threads::thread_count(threads)?;
        arguments.assign_paths(paths);
        Ok(arguments)
    }

    fn with_command(mut self, wanted: CommandKind) -> Self {
        self.wanted = wanted;
        self
    }

    /// Stores the value of an option.
    fn take_option(&mut self, name: &str, parser: &mut Parser) -> Result<()> {
        let reading = &mut self.options.reading;
        match name {
            "overwrite" => self.overwrite = true,
            "quiet" => self.quiet = true,
            "interleaved" => self.options.interleaved = true,
            "out" => self.out = parser.value().map_err(argument_error)?.into(),
            "format" => self.format = Some(ScoreFormat::from_str(&option_text(parser)?)?),
            "memory" => self.memory = Some(size::parse_byte_size(&option_text(parser)?)?),
            "quality" => reading.quality = QualityEncoding::from_name(&option_text(parser)?)?,
            "comments" => reading.comments = Comments::from_name(&option_text(parser)?)?,
            "whitespace" => reading.whitespace = Whitespace::from_name(&option_text(parser)?)?,
            "ids" => reading.ids = MissingIds::from_name(&option_text(parser)?)?,
            _ => return Err(unknown_option_error(&format!("--{name}"))),
        }
        Ok(())
    }

    /// Splits the positional arguments into the command, the model and the files.
    fn assign_paths(&mut self, paths: Vec<OsString>) {
        let mut paths = paths.into_iter().peekable();
        let command = paths.peek().and_then(|word| command_from_word(word));
        if let Some(command) = command {
            self.wanted = command;
            paths.next();
        }
        self.export = paths.next().unwrap_or_default().into();
        self.files = paths.map(PathBuf::from).collect();
    }

    /// Returns an error if arguments are missing or contradict each other.
    fn check_arguments(mut self) -> Result<Self> {
        if matches!(self.wanted, CommandKind::Help | CommandKind::Version) {
            return Ok(self);
        }
        if self.export.as_os_str().is_empty() {
            return Err(Error::argument("EXPORT is missing: a folder or a .zip"));
        }
        match self.wanted {
            CommandKind::Inspect if !self.files.is_empty() => {
                return Err(Error::argument("inspect takes only EXPORT, no files"));
            }
            CommandKind::Predict | CommandKind::Bench if self.files.is_empty() => {
                return Err(Error::argument(
                    "FILES are missing: FASTA, FASTQ, a .bed, or - for standard input",
                ));
            }
            _ => {}
        }
        if let Some(memory) = self.memory {
            self.options.window = memory / WINDOW_MEMORY_DIVISOR;
        }
        Ok(self)
    }

    /// Opens the exported model.
    pub(super) fn open_model(&self) -> Result<Predictor> {
        let limits = self.memory_limits();
        Predictor::new(
            Export::open_with_limits(&self.export, limits)?,
            limits,
            self.threads,
        )
    }

    /// Returns the memory limits that apply to the model.
    pub(super) fn memory_limits(&self) -> Limits {
        let usual = Limits::default();
        self.memory
            .map_or(usual, |memory_bytes| Limits { memory_bytes })
    }

    /// Returns true if scores are written to standard output.
    pub(super) fn writes_to_stdout(&self) -> bool {
        self.out == Path::new(STREAM_PATH)
    }
}

fn command_from_word(word: &OsStr) -> Option<CommandKind> {
    match word.to_str()? {
        "predict" => Some(CommandKind::Predict),
        "inspect" => Some(CommandKind::Inspect),
        "bench" => Some(CommandKind::Bench),
        "help" => Some(CommandKind::Help),
        _ => None,
    }
}

fn option_text(parser: &mut Parser) -> Result<String> {
    let value = parser.value().map_err(argument_error)?;
    value.string().map_err(argument_error)
}

fn parse_integer(name: &str, parser: &mut Parser) -> Result<usize> {
    let value = option_text(parser)?;
    let count: Option<usize> = value.parse().ok();
    count
        .filter(|count| (1..=MAX_THREADS).contains(count))
        .ok_or_else(|| {
            Error::argument(format!(
                "{name} must be an integer from 1 to {MAX_THREADS}, got {value:?}"
            ))
        })
}

fn unknown_option_error(option: &str) -> Error {
    Error::argument(format!(
        "unknown option {option}; a file of that name is ./{option}"
    ))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err passes the error by value"
)]
fn argument_error(error: lexopt::Error) -> Error {
    Error::argument(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine> {
        CommandLine::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn predict_is_the_default_command() {
        let found = parse("m.zip a.fa -").unwrap();
        assert_eq!(
            (found.wanted, found.writes_to_stdout()),
            (CommandKind::Predict, true)
        );
        assert_eq!(found.export, Path::new("m.zip"));
        assert_eq!(found.files, [Path::new("a.fa"), Path::new("-")]);
    }

    #[test]
    fn options_may_be_anywhere() {
        let found = parse("predict --threads 3 m a.fa --out b.npz --memory 1600 --quiet").unwrap();
        assert_eq!((found.threads, found.options.window), (3, 400));
        assert!(found.quiet && !found.overwrite && !found.writes_to_stdout());
    }

    #[test]
    fn wrong_arguments_are_errors_that_mention_help() {
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
