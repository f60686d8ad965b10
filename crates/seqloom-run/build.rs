//! Links the program statically, so that it needs no shared library except the C
//! library.

use std::path::Path;

/// A linker script that replaces `libgcc_s` by static libraries with the same
/// functions.
const STATIC_LIBGCC_SCRIPT: &str = "GROUP ( -lgcc_eh -lgcc )";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let says = |name: &str| std::env::var(name).unwrap_or_default();
    if says("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    if says("CARGO_CFG_TARGET_ENV") == "gnu" {
        let folder = says("OUT_DIR");
        // If the linker script cannot be written, the program also needs the shared
        // library libgcc_s.
        if std::fs::write(Path::new(&folder).join("libgcc_s.so"), STATIC_LIBGCC_SCRIPT).is_ok() {
            println!("cargo:rustc-link-arg-bins=-L{folder}");
        }
    }
}
