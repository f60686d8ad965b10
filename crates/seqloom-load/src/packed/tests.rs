//! Compares batches with those of a simple implementation, and resumes the stream after
//! every batch.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use seqloom_core::BufferPool;
use seqloom_encode::pack::best_fit;
use seqloom_sequences::ReaderOptions;

use super::*;
use crate::gather::RaggedRows;

/// A tokeniser that converts each residue to its byte.
struct LetterTokens;

impl Tokenise for LetterTokens {
    fn tokenise(
        &mut self,
        windows: &RaggedRows,
        out: &mut WindowTokens,
    ) -> seqloom_core::Result<()> {
        out.data = windows
            .data
            .iter()
            .map(|letter| u32::from(*letter))
            .collect();
        out.offsets.clone_from(&windows.offsets);
        Ok(())
    }
}

/// A file that is removed when it is dropped.
struct TestFile(PathBuf);

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn write(lengths: &[usize]) -> TestFile {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("seqloom-packed-{}-{number}.fa", std::process::id());
    let path = std::env::temp_dir().join(name);
    let record = |(number, length): (usize, &usize)| {
        let letters: String = (0..*length)
            .map(|at| char::from(b'A' + u8::try_from((number + at) % 26).unwrap()))
            .collect();
        format!(">r{number} text\n{letters}\n")
    };
    let text: String = lengths.iter().enumerate().map(record).collect();
    fs::write(&path, text).unwrap();
    TestFile(path)
}

fn rule(capacity: usize, window: usize, cut: (usize, usize)) -> PackingRule {
    PackingRule {
        capacity,
        window,
        cut: WindowCutter::new(Some(cut.0), cut.1).unwrap(),
        keeps_empty: true,
    }
}

fn stream(file: &TestFile, rule: PackingRule, resume: ResumePoint) -> BatchStream<LetterTokens> {
    let input = SequenceFile {
        path: file.0.clone(),
        index: None,
    };
    let files = RecordFiles::new(vec![input], ReaderOptions::default(), resume.from, None);
    BatchStream::new(files, rule, LetterTokens, resume, BufferPool::default())
}

fn all(mut stream: BatchStream<LetterTokens>) -> (Vec<PackedBatch>, u64) {
    let mut found = Vec::new();
    while let Some(packed) = stream.next_batch().unwrap() {
        found.push(packed);
    }
    (found, stream.content_hash())
}

fn keys(packed: &PackedBatch) -> Vec<(i64, i64)> {
    packed
        .ordinals
        .iter()
        .copied()
        .zip(packed.starts.iter().copied())
        .collect()
}

/// A simple implementation of packing, which searches the whole list of windows for each
/// batch.
fn pack_with_full_search(sizes: &[i64], capacity: i64, window: usize) -> Vec<Vec<usize>> {
    let mut waiting: Vec<usize> = Vec::new();
    let mut batches = Vec::new();
    let take = |waiting: &mut Vec<usize>| {
        let lengths: Vec<i64> = waiting.iter().map(|number| sizes[*number]).collect();
        let chosen = best_fit(&lengths, capacity).unwrap();
        let taken: Vec<usize> = chosen
            .iter()
            .map(|position| waiting[usize::try_from(*position).unwrap()])
            .collect();
        waiting.retain(|number| !taken.contains(number));
        taken
    };
    for number in 0..sizes.len() {
        waiting.push(number);
        let total: i64 = waiting.iter().map(|number| sizes[*number]).sum();
        if waiting.len() >= window && total >= 2 * capacity {
            batches.push(take(&mut waiting));
        }
    }
    while !waiting.is_empty() {
        batches.push(take(&mut waiting));
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn batches_equal_those_of_a_simple_packer(
        lengths in prop::collection::vec(0_usize..30, 1..200), window in 1_usize..20,
    ) {
        let file = write(&lengths);
        let (found, _) = all(stream(&file, rule(40, window, (40, 0)), ResumePoint::default()));
        let sizes: Vec<i64> = lengths.iter().map(|size| i64::try_from(*size).unwrap()).collect();
        let wanted = pack_with_full_search(&sizes, 40, window);
        let ordinals: Vec<Vec<usize>> = found
            .iter()
            .map(|packed| packed.ordinals.iter().map(|it| usize::try_from(*it).unwrap()).collect())
            .collect();
        prop_assert_eq!(ordinals, wanted);
        for packed in &found {
            let ends = packed.ordinals.iter().scan(0, |end, number| {
                *end += i32::try_from(lengths[usize::try_from(*number).unwrap()]).unwrap();
                Some(*end)
            });
            let bounds: Vec<i32> = std::iter::once(0).chain(ends).collect();
            prop_assert_eq!(&packed.bounds, &bounds);
        }
    }

    #[test]
    fn a_stream_resumes_after_every_batch(
        lengths in prop::collection::vec(0_usize..90, 1..80), window in 1_usize..20,
    ) {
        let file = write(&lengths);
        let rule = rule(40, window, (25, 7));
        let (whole, content) = all(stream(&file, rule, ResumePoint::default()));
        for (number, packed) in whole.iter().enumerate() {
            let (rest, again) = all(stream(&file, rule, packed.resume.clone()));
            let wanted: Vec<_> = whole[number + 1..].iter().map(keys).collect();
            prop_assert_eq!(rest.iter().map(keys).collect::<Vec<_>>(), wanted);
            prop_assert_eq!(again, content);
        }
    }

    #[test]
    fn a_prefetching_thread_returns_the_same_batches(
        lengths in prop::collection::vec(0_usize..30, 1..80), prefetch in 1_usize..4,
    ) {
        let file = write(&lengths);
        let rule = rule(40, 8, (40, 0));
        let (whole, content) = all(stream(&file, rule, ResumePoint::default()));
        let thread = PrefetchedStream::start(stream(&file, rule, ResumePoint::default()), prefetch);
        for packed in &whole {
            let found = thread.next_batch().unwrap().unwrap().unwrap();
            prop_assert_eq!(keys(&found), keys(packed));
            prop_assert_eq!(&found.tokens, &packed.tokens);
        }
        prop_assert!(thread.next_batch().unwrap().unwrap().is_none());
        prop_assert_eq!(thread.content_hash(), Some(content));
    }
}

#[test]
fn a_file_without_the_windows_of_the_pool_is_an_error() {
    let file = write(&[3, 4, 5, 6, 7]);
    let resume = ResumePoint {
        next: (9, 0),
        waiting: vec![(7, 0)],
        ..ResumePoint::default()
    };
    let outcome = stream(&file, rule(40, 8, (40, 0)), resume).next_batch();
    assert!(matches!(outcome, Err(PackingFailure::Reading(_))));
}

#[test]
fn records_before_a_fault_are_returned_first() {
    let file = write(&[3, 4, 50, 6]);
    let mut stream = stream(&file, rule(10, 8, (90, 0)), ResumePoint::default());
    let first = stream.next_batch().unwrap().unwrap();
    assert_eq!(first.ordinals, [0, 1]);
    for _ in 0..2 {
        let Err(PackingFailure::Record { origin, cause, .. }) = stream.next_batch() else {
            unreachable!("the third record does not fit");
        };
        assert_eq!(origin.record, 2);
        assert!(matches!(cause, Cause::Long(50)));
    }
}

#[test]
fn the_content_hash_depends_on_all_records_that_were_read() {
    let content = |lengths: &[usize]| {
        let file = write(lengths);
        all(stream(&file, rule(40, 8, (25, 7)), ResumePoint::default())).1
    };
    assert_eq!(content(&[3, 40, 5]), content(&[3, 40, 5]));
    for other in [&[4, 40, 5][..], &[3, 41, 5], &[3, 40, 6], &[3, 40]] {
        assert_ne!(content(&[3, 40, 5]), content(other), "{other:?}");
    }
}
