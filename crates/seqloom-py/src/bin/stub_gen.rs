//! Writes the stub of the extension module from the Rust source (`make stubs`).
//!
//! `StubInfo::generate` would write `_native/__init__.pyi`, a folder next to the `.so`
//! of the same name. Type checkers such as mypy read a single stub file.

use std::{env, fs};

fn main() -> pyo3_stub_gen::Result<()> {
    let path = env::args_os().nth(1).unwrap_or("/dev/stdout".into());
    let info = _native::stub_info()?;
    let stub = info.modules[&info.default_module_name].format_with_config(false);
    // Strict type checkers require the type argument of `os.PathLike`.
    let stub = stub.replace("os.PathLike ", "os.PathLike[str] ");
    let stub = stub.replace(": tuple,", ": tuple[typing.Any, ...],");
    // The argument of `__getitem__` is positional-only, but the generator does not mark
    // it as such.
    let by_name = "__getitem__(self, index: builtins.int)";
    let by_position = "__getitem__(self, index: builtins.int, /)";
    fs::write(path, stub.replace(by_name, by_position))?;
    Ok(())
}
