//! Compares the decompressed text of real files with the output of `gzip`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

/// Returns the folder with real sequencing reads. Prints a message if the folder does
/// not exist.
#[expect(clippy::print_stderr, reason = "a skipped test should print a message")]
fn real_file_folder() -> Option<PathBuf> {
    let reads = env::var_os("SEQLOOM_DATA").map(|root| Path::new(&root).join("fastx/reads"));
    let reads = reads.filter(|folder| folder.is_dir());
    if reads.is_none() {
        eprintln!("skipped: SEQLOOM_DATA is not a folder with real reads");
    }
    reads
}

#[test]
fn real_files_have_the_text_that_gzip_returns() {
    let Some(folder) = real_file_folder() else {
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
            open_text(
                BufferedInput::open(&path).unwrap(),
                &options_with_threads(1)
            )
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
            let (reads, outcome) = read_all_text(BufferedInput::open(&path).unwrap(), &options);
            assert!(outcome.is_ok(), "{name}: {}", error_message(outcome));
            assert!(reads == said.stdout, "{name}");
        }
    }
}
