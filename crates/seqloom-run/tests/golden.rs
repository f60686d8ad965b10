//! Tests that exported models of every format version still produce the stored scores.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use seqloom_run::{PredictOptions, Predictor, Scores};
use seqloom_sequences::Reader;

const RECORD_LENGTHS: [usize; 5] = [30, 24, 30, 17, 9];

fn exports_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes a file with the first sequences of the demo data, truncated to several
/// lengths.
fn write_records(path: &Path) {
    let demo = exports_folder().join("python/seqloom/_demo/test.fa.gz");
    let mut reader = Reader::open(&demo, &seqloom_sequences::ReaderOptions::default()).unwrap();
    let batch = reader
        .read_batch(RECORD_LENGTHS.len(), usize::MAX)
        .unwrap()
        .unwrap();
    let mut file = fs::File::create(path).unwrap();
    for (row, length) in RECORD_LENGTHS.into_iter().enumerate() {
        let start = usize::try_from(batch.offsets[row]).unwrap();
        let letters = String::from_utf8(batch.data[start..start + length].to_vec()).unwrap();
        writeln!(file, ">{row}\n{letters}").unwrap();
    }
}

fn score(name: &str, threads: usize) -> Vec<f32> {
    let path = std::env::temp_dir().join(format!(
        "seqloom-golden-{name}-{threads}-{}.fa",
        std::process::id()
    ));
    write_records(&path);
    let export = exports_folder().join("tests/export/data").join(name);
    let model = Predictor::open(&export, threads).unwrap();
    let mut all = Scores::default();
    let files = [path.clone()];
    let summary = model
        .predict(&files, &PredictOptions::default(), |columns, scores| {
            assert_eq!(columns, ["EI", "IE", "N"]);
            all = scores.clone();
            Ok(())
        })
        .unwrap();
    fs::remove_file(path).unwrap();
    let ids: Vec<&[u8]> = all.names.iter().collect();
    assert_eq!(
        (summary.records, ids),
        (5, vec![b"0".as_slice(), b"1", b"2", b"3", b"4"])
    );
    all.values
}

#[test]
fn stored_exports_give_their_scores_for_any_number_of_threads() {
    for name in ["version_1_cnn", "version_1_lstm"] {
        let text =
            fs::read(exports_folder().join(format!("tests/export/data/{name}.json"))).unwrap();
        let wanted: Vec<[f32; 3]> = serde_json::from_slice(&text).unwrap();
        let found = score(name, 1);
        for (found, wanted) in found.iter().zip(wanted.as_flattened()) {
            assert!(
                (found - wanted).abs() < 1e-5,
                "{name}: {found} and {wanted}"
            );
        }
        assert_eq!(found.len(), 15);
        assert_eq!(found, score(name, 2));
    }
    assert!(rayon::ThreadPoolBuilder::new().build_global().is_ok());
}
