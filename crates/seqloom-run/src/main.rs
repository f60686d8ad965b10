//! The command `seqloom-run`, which scores files with an exported model, without
//! Python.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::run_command_line(std::env::args_os().skip(1))
}
