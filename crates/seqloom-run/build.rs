//! How the command is linked: with nothing but the C library.

use std::path::Path;

/// What the linker finds for `libgcc_s`: the same functions, to be part of the program.
const STATIC: &str = "GROUP ( -lgcc_eh -lgcc )";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let says = |name: &str| std::env::var(name).unwrap_or_default();
    if says("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    if says("CARGO_CFG_TARGET_ENV") == "gnu" {
        let folder = says("OUT_DIR");
        // Where it cannot be written, the program needs libgcc_s beside the C library.
        if std::fs::write(Path::new(&folder).join("libgcc_s.so"), STATIC).is_ok() {
            println!("cargo:rustc-link-arg-bins=-L{folder}");
        }
    }
}
