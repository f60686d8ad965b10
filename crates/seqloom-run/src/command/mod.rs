//! The commands, and what becomes of an error.

mod arguments;
mod bench;
mod help;
mod inspect;
mod predict;
mod remedies;
mod signals;
mod size;
mod threads;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use seqloom_run::Result;

use self::arguments::{CommandKind, CommandLine};

/// What is wrong with the input, or with the words.
const BAD_INPUT: u8 = 2;
/// The reader of standard output has closed it.
const UNWANTED: u8 = 1;

/// How a command ended without an error.
pub(crate) enum CommandOutcome {
    Done,
    /// The reader of standard output has closed it.
    Unwanted,
}

/// Does what the words say, and gives the exit code.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    signals::handle_signals();
    match CommandLine::parse(words).and_then(|arguments| execute(&arguments)) {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Unwanted) => ExitCode::from(UNWANTED),
        Err(error) => signals::received().map_or_else(
            || {
                let text = remedies::name_options(&error);
                say(&format!("error: {text}"));
                ExitCode::from(BAD_INPUT)
            },
            |signal| {
                say("\nstopped");
                ExitCode::from(signal.saturating_add(128))
            },
        ),
    }
}

fn execute(arguments: &CommandLine) -> Result<CommandOutcome> {
    Ok(match arguments.wanted {
        CommandKind::Help => print(help::TEXT),
        CommandKind::Version => print(concat!("seqloom-run ", env!("CARGO_PKG_VERSION"), "\n")),
        CommandKind::Predict => predict::predict(arguments)?,
        CommandKind::Inspect => print(&inspect::describe(arguments)?),
        CommandKind::Bench => print(&bench::measure(arguments)?),
    })
}

/// Prints a result; that nobody reads it is no error.
fn print(text: &str) -> CommandOutcome {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(printable(text).as_bytes())
        .and_then(|()| out.flush());
    written.map_or(CommandOutcome::Unwanted, |()| CommandOutcome::Done)
}

/// Prints what is no result.
pub(crate) fn say(text: &str) {
    // If standard error is closed, the message is lost.
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(text));
}

/// Escapes what a terminal would obey instead of showing.
fn printable(text: &str) -> String {
    let is_shown = |letter: char| letter == '\n' || !letter.is_control();
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_shown(letter) && !is_turning(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    shown
}

/// Whether a mark changes the direction of writing.
fn is_turning(letter: char) -> bool {
    matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
