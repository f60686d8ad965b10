//! Writes `seqloom.h` from the Rust source: `header_gen include/seqloom.h`.

use std::{path::Path, process::ExitCode};

use cbindgen::{Builder, Config, Language, Style};

fn main() -> ExitCode {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(target) = std::env::args_os().nth(1) else {
        return ExitCode::FAILURE;
    };
    let sources = ["ffi", "model", "scores", "array"];
    let mut builder = Builder::new().with_config(cbindgen_config());
    for name in sources {
        builder = builder.with_src(here.join("src").join(name).with_extension("rs"));
    }
    match builder.generate() {
        Ok(bindings) => {
            bindings.write_to_file(target);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn cbindgen_config() -> Config {
    Config {
        language: Language::C,
        style: Style::Type,
        include_guard: Some("SEQLOOM_H".to_owned()),
        cpp_compat: true,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        header: Some(
            "/* Scores of an exported model. Written by cbindgen from crates/seqloom-c: do not \
             edit. */"
                .to_owned(),
        ),
        ..Config::default()
    }
}
