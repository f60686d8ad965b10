//! Tests with valid and invalid real files. The environment variable `SEQLOOM_DATA`
//! contains the path of the folder with these files.
#![expect(clippy::panic, reason = "a test")]

mod support;

use std::ffi::OsStr;
use std::path::Path;

use seqloom_core::Error;
use seqloom_core::error::FaultKind;
use seqloom_sequences::ReaderOptions;
use seqloom_sequences::options::{Comments, Whitespace};
use support::{files, read, read_as};

/// Returns the kind of the error in a file, or `None` if the file is valid.
fn kind(file: &[u8]) -> Option<FaultKind> {
    match read(file) {
        Err(Error::Format { fault, .. }) => Some(fault.kind),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

#[test]
fn every_fault_of_published_test_files_is_reported_with_its_kind() {
    let expected = [
        ("error_diff_ids", FaultKind::Names),
        ("error_double_qual", FaultKind::Header),
        ("error_double_seq", FaultKind::Cut),
        ("error_long_qual", FaultKind::Length),
        ("error_no_qual", FaultKind::Length),
        ("error_qual_del", FaultKind::Quality),
        ("error_qual_escape", FaultKind::Quality),
        ("error_qual_null", FaultKind::Quality),
        ("error_qual_space", FaultKind::Quality),
        ("error_qual_tab", FaultKind::Quality),
        ("error_qual_unit_sep", FaultKind::Quality),
        ("error_qual_vtab", FaultKind::Quality),
        ("error_short_qual", FaultKind::Length),
        ("error_spaces", FaultKind::Letter),
        ("error_tabs", FaultKind::Letter),
        ("error_trunc_at_plus", FaultKind::Cut),
        ("error_trunc_at_qual", FaultKind::Cut),
        ("error_trunc_at_seq", FaultKind::Cut),
        ("error_trunc_in_plus", FaultKind::Cut),
        ("error_trunc_in_qual", FaultKind::Cut),
        ("error_trunc_in_seq", FaultKind::Cut),
        ("error_trunc_in_title", FaultKind::Cut),
    ];
    for (name, file) in files("fastx/quality") {
        let expected_kind = expected
            .iter()
            .find(|(fault, _)| name.starts_with(fault))
            .map(|(_, kind)| *kind);
        if Path::new(&name).extension() != Some(OsStr::new("qual")) {
            assert_eq!(kind(&file), expected_kind, "{name}");
        }
    }
}

#[test]
fn real_files_are_valid_or_invalid_as_index_yml_states() {
    for folder in ["FASTA", "FASTQ"] {
        let all = files(&format!("fastx/specimens/{folder}"));
        let index = all.iter().find(|(name, _)| name == "index.yml");
        let index = index.map_or(String::new(), |(_, text)| {
            String::from_utf8_lossy(text).into()
        });
        for (name, file) in all.iter().filter(|(name, _)| name != "index.yml") {
            let is_odd = ["f003.fasta", "example1.txt"].contains(&name.as_str());
            let entry = index
                .split("filename: ")
                .find(|entry| entry.starts_with(name));
            let is_valid = !entry.unwrap_or("").contains("valid: false");
            assert_eq!(
                kind(file).is_none(),
                is_valid && !is_odd,
                "{name}: {:?}",
                kind(file)
            );
        }
    }
}

#[test]
fn comments_and_white_space_are_skipped_with_the_options() {
    let options = ReaderOptions {
        comments: Comments::Skip,
        whitespace: Whitespace::Strip,
        ..ReaderOptions::default()
    };
    for (name, file) in files("fastx/specimens/FASTA") {
        if ["f003.fasta", "example1.txt"].contains(&name.as_str()) {
            assert!(kind(&file).is_some(), "{name}");
            let records = read_as(&file, usize::MAX, &options).unwrap();
            let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
            assert!(
                records
                    .iter()
                    .all(|(_, letters, _)| letters.iter().all(is_letter))
            );
        }
    }
}

#[test]
fn the_chunk_size_does_not_change_the_result() {
    let folders = [
        "fastx/quality",
        "fastx/specimens/FASTA",
        "fastx/specimens/FASTQ",
    ];
    for (name, file) in folders.into_iter().flat_map(files) {
        if file.len() > 8000 {
            continue;
        }
        let whole = read(&file);
        for chunk_size in (1..24).chain([64, 100, 1000]) {
            let found = read_as(&file, chunk_size, &ReaderOptions::default());
            assert_eq!(found, whole, "{name} in chunks of {chunk_size}");
        }
    }
}
