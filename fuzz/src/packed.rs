//! Packs the records of a file, and checks that every record occurs once and that a
//! stream resumes after any batch.

use std::collections::BTreeMap;
use std::path::Path;

use seqloom_core::{self as core, BufferPool};
use seqloom_encode::{LetterTable, Lookup, Policy, TokenFrame};
use seqloom_load::gather::RaggedRows;
use seqloom_load::packed::{
    BatchStream, PackedBatch, PackingFailure, PackingRule, RecordFiles, ResumePoint, SequenceFile,
    Tokenise, WindowCutter, WindowTokens, tokenise_rows,
};
use seqloom_sequences::ReaderOptions;

use crate::choices::Choices;
use crate::records::{Packing, Record, Records};
use crate::scratch;

/// Packs a random file, and resumes after one of its batches.
pub fn run(mut choices: Choices<'_>) {
    let records = Records::new(&mut choices);
    let packing = Packing::new(&mut choices);
    let path = scratch::write("packed", &records.file(packing));
    let rule = rule(&mut choices);
    let alphabet = ["iupac", "dna"][choices.below(2)];
    let stream = |position: ResumePoint| {
        let input = SequenceFile {
            path: path.clone(),
            index: None,
        };
        let files = RecordFiles::new(vec![input], ReaderOptions::default(), position.from, None);
        BatchStream::new(
            files,
            rule,
            Tokeniser::new(alphabet),
            position,
            BufferPool::default(),
        )
    };
    let (batches, end) = all(stream(ResumePoint::default()));
    check_batches(&batches, &records.all, rule, end.is_ok());
    if let Some(chosen) = choices.below(batches.len() + 1).checked_sub(1) {
        let (rest, again) = all(stream(batches[chosen].resume.clone()));
        assert_eq!(
            rest.iter().map(keys).collect::<Vec<_>>(),
            batches[chosen + 1..].iter().map(keys).collect::<Vec<_>>()
        );
        assert_eq!(again.is_ok(), end.is_ok());
        assert!(end.is_err() || again.ok() == end.ok());
    }
    resume_anywhere(&path, rule, &mut choices);
}

/// Resumes from an arbitrary position.
fn resume_anywhere(path: &Path, rule: PackingRule, choices: &mut Choices<'_>) {
    let mut small = || choices.byte() as u64 % 12;
    let mut position = ResumePoint {
        next: (small(), small()),
        ..ResumePoint::default()
    };
    position.from.record = small();
    position.from.ordinal = small();
    position.waiting = (0..small() % 4).map(|_| (small(), small())).collect();
    let input = SequenceFile {
        path: path.to_path_buf(),
        index: None,
    };
    let files = RecordFiles::new(
        vec![input],
        ReaderOptions::default(),
        position.from,
        Some(small()),
    );
    let _ = all(BatchStream::new(
        files,
        rule,
        Tokeniser::new("iupac"),
        position,
        BufferPool::default(),
    ));
}

fn rule(choices: &mut Choices<'_>) -> PackingRule {
    let limit = (choices.one_in(2)).then(|| 1 + choices.below(300));
    let overlap = choices.below(limit.unwrap_or(50));
    PackingRule {
        capacity: 1 + choices.below(2000),
        window: choices.below(9),
        cut: WindowCutter::new(limit, overlap).expect("the overlap is below the limit"),
        keeps_empty: !choices.one_in(4),
    }
}

/// Returns all batches, and the hash of the content or the error.
fn all(mut stream: BatchStream<Tokeniser>) -> (Vec<PackedBatch>, Result<u64, PackingFailure>) {
    let mut batches = Vec::new();
    loop {
        match stream.next_batch() {
            Ok(Some(batch)) => batches.push(batch),
            Ok(None) => return (batches, Ok(stream.content_hash())),
            Err(failure) => return (batches, Err(failure)),
        }
    }
}

fn keys(batch: &PackedBatch) -> (Vec<i64>, Vec<i64>, Vec<u32>) {
    (
        batch.ordinals.clone(),
        batch.starts.clone(),
        batch.tokens.clone(),
    )
}

/// Checks that merged windows contain each record once.
fn check_batches(batches: &[PackedBatch], records: &[Record], rule: PackingRule, is_whole: bool) {
    let mut parts = BTreeMap::new();
    for batch in batches {
        assert!(batch.tokens.len() <= rule.capacity && batch.tokens.len() == batch.positions.len());
        for row in 0..batch.ordinals.len() {
            let bounds = batch.bounds[row] as usize..batch.bounds[row + 1] as usize;
            let positions = &batch.positions[bounds.clone()];
            assert!((0..).zip(positions).all(|(wanted, found)| wanted == *found));
            let tokens = &batch.tokens[bounds];
            let [start, stop] = [0, 1].map(|end| batch.keep[2 * row + end] as usize);
            let key = (batch.ordinals[row], batch.starts[row]);
            assert!(
                parts.insert(key, tokens[start..stop].to_vec()).is_none(),
                "{key:?} twice"
            );
        }
    }
    for (ordinal, record) in (0..).zip(records) {
        let found = parts.range((ordinal, 0)..(ordinal + 1, 0));
        let found: Vec<u32> = found.flat_map(|(_, tokens)| tokens.clone()).collect();
        let wanted: Vec<u32> = record.1.iter().map(|letter| u32::from(*letter)).collect();
        assert!(if is_whole {
            found == wanted
        } else {
            found.len() <= wanted.len()
        });
    }
}

/// A tokeniser with one token for each residue: its byte.
struct Tokeniser(LetterTable, Lookup<u32>);

impl Tokeniser {
    fn new(alphabet: &str) -> Self {
        let letters = LetterTable::new(alphabet, Policy::default()).expect("the alphabet is known");
        let values: Vec<u32> = (0..256).collect();
        let frame = TokenFrame {
            head: None,
            tail: None,
            pad: 0,
        };
        Self(letters, Lookup::new(&values, frame).expect("256 values"))
    }
}

impl Tokenise for Tokeniser {
    fn tokenise(&mut self, windows: &RaggedRows, out: &mut WindowTokens) -> core::Result<()> {
        tokenise_rows((&self.0, &self.1), windows, out).map(drop)
    }
}
