//! Files that other programs made, beside what `gzip` makes of them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// The folder of real reads; says so where there is none.
#[expect(clippy::print_stderr, reason = "a test that is skipped should say so")]
fn folder() -> Option<PathBuf> {
    let found = env::var_os("SEQLOOM_DATA").map(|root| Path::new(&root).join("fastx/reads"));
    let found = found.filter(|folder| folder.is_dir());
    if found.is_none() {
        eprintln!("skipped: SEQLOOM_DATA names no folder with real reads");
    }
    found
}

#[test]
fn real_files_hold_what_gzip_says() {
    let Some(folder) = folder() else {
        return;
    };
    for (name, kind) in [
        ("Illimina1.8.fq.gz", Compression::Gzip),
        ("fake_fastq_file.fastq.gz", Compression::Bgzip),
        ("multimember_clean.fastq.gz", Compression::Gzip),
        ("multimember_pigz.fastq.gz", Compression::Gzip),
        ("multimember_split.fastq.gz", Compression::Gzip),
        ("sample_parallel.fastq.bgz", Compression::Bgzip),
        ("wrong_extension.fastq.gz", Compression::Bgzip),
    ] {
        let path = folder.join(name);
        let said = Command::new("gzip")
            .arg("-dc")
            .stdin(std::fs::File::open(&path).unwrap())
            .output()
            .unwrap();
        assert_eq!(
            unpack(BufferedInput::open(&path).unwrap(), &threads(1))
                .unwrap()
                .0,
            kind,
            "{name}"
        );
        for count in [1, 2] {
            let options = UnpackOptions {
                require_eof: false,
                threads: count,
            };
            let (found, outcome) = drain(BufferedInput::open(&path).unwrap(), &options);
            assert!(outcome.is_ok(), "{name}: {}", message(outcome));
            assert!(found == said.stdout, "{name}");
        }
    }
}
