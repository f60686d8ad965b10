//! Decompresses changed gzip files with one thread, and then with several threads from
//! the snapshots of the first read. Both reads must return the same text and the same
//! error.

use std::path::Path;

use seqloom_compression::input::BufferedInput;
use seqloom_compression::parallel::text_from_snapshots;
use seqloom_compression::{TextSource, UnpackOptions, open_text};
use sirocco::Format;
use sirocco::deflate::{Encoder, Flush, Level};

use crate::blocks::read;
use crate::choices::Choices;
use crate::scratch;

/// Size of the output buffer of one call of the encoder.
const OUTPUT_BYTES: usize = 1 << 18;

/// Makes a file as the fuzzer chooses, and decompresses the file twice.
pub fn run(mut choices: Choices<'_>) {
    let mut file = Vec::new();
    for _ in 0..1 + choices.below(3) {
        append_member(&mut choices, &mut file);
    }
    corrupt(&mut choices, &mut file);
    let path = scratch::write("parts.gz", &file);
    let options = UnpackOptions {
        threads: 2,
        ..UnpackOptions::default()
    };
    let whole = read_by_one_thread(&path, &options);
    let again = text_from_snapshots(&path, &options).map(drain);
    assert!(again.is_none_or(|again| again == whole), "read again");
}

/// The text, and the error that ended the read.
type Outcome = (Vec<u8>, Option<String>);

fn read_by_one_thread(path: &Path, options: &UnpackOptions) -> Outcome {
    let input = BufferedInput::open(path).expect("the file was written");
    match open_text(input, options) {
        Ok((_, text)) => drain(text),
        Err(error) => (Vec::new(), Some(format!("{error:?}"))),
    }
}

fn drain(mut text: Box<dyn TextSource>) -> Outcome {
    let mut found = Vec::new();
    let error = read(text.as_mut(), &mut found);
    (found, error)
}

/// Appends a gzip member of several blocks, with sizes that the fuzzer chooses.
fn append_member(choices: &mut Choices<'_>, file: &mut Vec<u8>) {
    let levels = [Level::NONE, Level::FASTEST, Level::DEFAULT, Level::BEST];
    let mut encoder = Encoder::new(Format::Gzip, levels[choices.below(levels.len())]);
    let (mut all, mut room) = (Vec::new(), vec![0; OUTPUT_BYTES]);
    for _ in 0..choices.below(6) {
        let flush = [Flush::None, Flush::Sync, Flush::Full][choices.below(3)];
        all.extend(make_text(choices));
        file.extend_from_slice(encoder.compress(&all, &mut room, flush).output);
    }
    file.extend_from_slice(encoder.compress(&all, &mut room, Flush::Finish).output);
}

/// Makes text that compresses well, badly or not at all.
fn make_text(choices: &mut Choices<'_>) -> Vec<u8> {
    let most = if choices.one_in(4) { 1 << 15 } else { 1 << 11 };
    let size = choices.below(most);
    let (style, mut state) = (choices.byte(), u64::from(choices.short()));
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::from(state.to_le_bytes()[7])
    };
    match style % 4 {
        0 => (0..size)
            .map(|at| b"ACGT\n"[if at % 61 == 60 { 4 } else { next() % 4 }])
            .collect(),
        1 => choices
            .bytes(64)
            .iter()
            .copied()
            .cycle()
            .take(size)
            .collect(),
        2 => (0..size).map(|_| next() as u8).collect(),
        _ => {
            let line = |number: usize| format!("@read{number}:{}\nACGTTGCA\n+\nIIIIHHHG\n", next());
            let text: String = (0..size / 36).map(line).collect();
            text.into_bytes()
        }
    }
}

/// Changes bits, truncates the file or appends bytes.
fn corrupt(choices: &mut Choices<'_>, file: &mut Vec<u8>) {
    match choices.byte() % 8 {
        0 => file.truncate(choices.below(file.len() + 1)),
        1 => file.extend(vec![0; choices.below(2000)]),
        2 => file.extend_from_slice(choices.bytes(100)),
        3 => drop(file.splice(..0, choices.bytes(40).iter().copied())),
        4 | 5 => {
            for _ in 0..1 + choices.below(3) {
                let at = choices.below(file.len());
                file.get_mut(at)
                    .into_iter()
                    .for_each(|byte| *byte ^= 1 << (choices.byte() % 8));
            }
        }
        _ => {}
    }
}
