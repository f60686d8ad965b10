//! The commands and their exit codes.

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

/// The exit code for an error in the input files or arguments.
const BAD_INPUT_CODE: u8 = 2;
/// The exit code if standard output was closed by its reader.
const CLOSED_OUTPUT_CODE: u8 = 1;

/// The result of a command that has not failed.
pub(crate) enum CommandOutcome {
    Done,
    /// The command ended early because standard output was closed by its reader.
    OutputClosed,
}

/// Runs a command line and returns the exit code.
pub(crate) fn run_command_line(words: impl Iterator<Item = OsString>) -> ExitCode {
    signals::handle_signals();
    match CommandLine::parse(words).and_then(|arguments| execute_command(&arguments)) {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::OutputClosed) => ExitCode::from(CLOSED_OUTPUT_CODE),
        Err(error) => signals::received_signal().map_or_else(
            || {
                let text = remedies::with_command_options(&error);
                print_message(&format!("error: {text}"));
                ExitCode::from(BAD_INPUT_CODE)
            },
            |signal| {
                print_message("\nstopped");
                ExitCode::from(signal.saturating_add(128))
            },
        ),
    }
}

fn execute_command(arguments: &CommandLine) -> Result<CommandOutcome> {
    Ok(match arguments.wanted {
        CommandKind::Help => print_output(help::HELP_TEXT),
        CommandKind::Version => {
            print_output(concat!("seqloom-run ", env!("CARGO_PKG_VERSION"), "\n"))
        }
        CommandKind::Predict => predict::predict_files(arguments)?,
        CommandKind::Inspect => print_output(&inspect::describe_model(arguments)?),
        CommandKind::Bench => print_output(&bench::measure_scoring(arguments)?),
    })
}

/// Prints a string to standard output. A closed standard output is not an error.
fn print_output(text: &str) -> CommandOutcome {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(escape_control_characters(text).as_bytes())
        .and_then(|()| out.flush());
    written.map_or(CommandOutcome::OutputClosed, |()| CommandOutcome::Done)
}

/// Prints a message to standard error.
pub(crate) fn print_message(text: &str) {
    // If standard error is closed, the message cannot be shown.
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}",
        escape_control_characters(text)
    );
}

/// Escapes control characters, because a terminal would interpret them.
fn escape_control_characters(text: &str) -> String {
    let is_shown = |letter: char| letter == '\n' || !letter.is_control();
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_shown(letter) && !changes_direction(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    shown
}

/// Returns true if a character changes the direction in which a terminal writes text.
fn changes_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
