//! Writes the stub of the extension module from its Rust source (`make stubs`).
//!
//! `StubInfo::generate` would make `_native/__init__.pyi`, a folder beside the `.so`
//! of the same name; one file at the path given is what a reader looks for.

use std::{env, fs};

fn main() -> pyo3_stub_gen::Result<()> {
    let path = env::args_os().nth(1).unwrap_or("/dev/stdout".into());
    let info = _native::stub_info()?;
    let stub = info.modules[&info.default_module_name].format_with_config(false);
    // A strict type checker asks what a path gives and a tuple holds.
    let stub = stub.replace("os.PathLike ", "os.PathLike[str] ");
    let stub = stub.replace(": tuple,", ": tuple[typing.Any, ...],");
    // A slot takes its argument by position; the generator does not say so.
    let by_name = "__getitem__(self, index: builtins.int)";
    let by_position = "__getitem__(self, index: builtins.int, /)";
    fs::write(path, stub.replace(by_name, by_position))?;
    Ok(())
}
