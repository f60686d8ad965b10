//! Tests with the inputs in `fuzz/regressions`. Each input once revealed a bug during
//! fuzzing.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "../../seqloom-sequences/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use seqloom_index::{parse_fai, parse_gzi, parse_index_rows};
use seqloom_plink::table::{TableKind, TextTable};
use seqloom_sequences::ReaderOptions;
use seqloom_sequences::options::OnError;

#[test]
fn inputs_from_fuzzing_give_the_same_index_for_all_chunk_sizes() {
    for path in regression_files() {
        let bytes = std::fs::read(&path).unwrap();
        for on_error in [OnError::Raise, OnError::Skip] {
            let options = ReaderOptions {
                on_error,
                ..ReaderOptions::default()
            };
            let whole = support::read_as(&bytes, usize::MAX, &options);
            for piece in 1..8 {
                let found = support::read_as(&bytes, piece, &options);
                assert_eq!(whole, found, "{} in chunks of {piece}", path.display());
            }
        }
        let _ = (
            parse_fai(&bytes),
            parse_gzi(&bytes),
            parse_index_rows(&bytes),
        );
        for sheet in [TableKind::Fam, TableKind::Bim] {
            let names = sheet.names().map(String::from);
            let _ = TextTable::parse(Path::new("fuzz"), sheet, &names, &bytes);
        }
    }
}

/// Returns the inputs in which fuzzing found a bug.
fn regression_files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/regressions");
    let Ok(entries) = std::fs::read_dir(folder) else {
        panic!("{folder} is missing");
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}
