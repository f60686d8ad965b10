//! Makes bgzip files with known changes, and compares the text that readers return with
//! the expected text.

use std::mem;

use seqloom_compression::index_bytes::IndexBytes;
use seqloom_compression::input::BufferedInput;
use seqloom_compression::seekable::{AccessPoints, SeekableText, TextCache, find_blocks};
use seqloom_compression::{Compression, TextSource, UnpackOptions, disk::DiskFile, open_text};
use sirocco::Format;
use sirocco::deflate::{Encoder, Flush, Level, compress_bound};

use crate::choices::Choices;
use crate::{SmallReads, scratch};

/// Maximal number of blocks of a file, so that each thread decompresses several batches
/// of blocks.
const MAX_BLOCKS: usize = 40;
/// Size of the text of a large block, with space for other fields in the header.
const LARGE_TEXT_BYTES: usize = 0xFA00;
/// Offset of the block size if its field is the first in the header.
const SIZE_OFFSET: usize = 16;
/// Distance of the checksum field from the end of a block.
const CHECKSUM_FROM_END: usize = 8;
/// Distance of the length field from the end of a block.
const LENGTH_FROM_END: usize = 4;

/// A section of the file, and its text if the section is a valid block.
#[derive(Clone)]
struct Part {
    bytes: Vec<u8>,
    text: Option<Vec<u8>>,
}

/// Makes a file as the fuzzer chooses, and reads the file with all readers.
pub fn run(mut choices: Choices<'_>) {
    let require_eof = !choices.one_in(4);
    let size = 1 + choices.below(40);
    let parts = make_parts(&mut choices);
    let file: Vec<u8> = parts.iter().flat_map(|part| part.bytes.clone()).collect();
    let whole = outcome(&file, usize::MAX, &options(1, require_eof));
    for threads in [1, 3] {
        let found = outcome(&file, size, &options(threads, require_eof));
        assert!(whole == found, "{threads} threads, pieces of {size}");
    }
    if whole.0 == Some(Compression::Bgzip) {
        compare(&whole, &parts, require_eof);
    }
    compare_seekable(&file, &parts);
}

fn options(threads: usize, require_eof: bool) -> UnpackOptions {
    UnpackOptions {
        threads,
        require_eof,
    }
}

/// The compression of a file, its text, and the error that ended the read.
pub(crate) type Outcome = (Option<Compression>, Vec<u8>, Option<String>);

/// Reads text up to its end or to an error.
pub(crate) fn outcome(file: &[u8], size: usize, options: &UnpackOptions) -> Outcome {
    let pieces = SmallReads::new(file, size);
    match open_text(BufferedInput::new(Box::new(pieces)), options) {
        Err(error) => (None, Vec::new(), Some(format!("{error:?}"))),
        Ok((compression, mut text)) => {
            let mut found = Vec::new();
            let error = read(text.as_mut(), &mut found);
            (Some(compression), found, error)
        }
    }
}

pub(crate) fn read(text: &mut dyn TextSource, found: &mut Vec<u8>) -> Option<String> {
    loop {
        match text.fill_buffer() {
            Ok([]) => return None,
            Ok(piece) => {
                found.extend_from_slice(piece);
                let count = piece.len();
                text.consume(count);
            }
            Err(error) => return Some(format!("{error:?}")),
        }
    }
}

/// Checks that the text ends where the first changed block begins, and that reading this
/// block fails.
fn compare((_, found, error): &Outcome, parts: &[Part], require_eof: bool) {
    let wanted = valid_text(parts);
    assert!(
        *found == wanted,
        "{} bytes of text, not {}",
        found.len(),
        wanted.len()
    );
    let is_ended = parts.last().is_some_and(is_empty);
    let is_whole = parts.iter().all(|part| part.text.is_some());
    let is_good = is_whole && (is_ended || !require_eof);
    assert_eq!(error.is_none(), is_good, "{error:?}");
}

/// Checks that reading by offset returns the whole text or an error.
fn compare_seekable(file: &[u8], parts: &[Part]) {
    let disk = DiskFile::open(&scratch::write("blocks", file)).expect("it was written");
    let Ok((blocks, size)) = find_blocks(&disk) else {
        return;
    };
    let (container, image) = (
        AccessPoints::Bgzip(blocks),
        IndexBytes::Memory(Vec::new().into()),
    );
    let text = SeekableText {
        disk,
        container,
        size,
        image,
    };
    let mut found = Vec::new();
    if text
        .read_range(0..size, &mut found, &mut TextCache::default())
        .is_ok()
    {
        let is_whole = parts.iter().all(|part| part.text.is_some());
        assert!(is_whole && found == valid_text(parts), "read by position");
    }
}

/// Returns the text before the first invalid block.
fn valid_text(parts: &[Part]) -> Vec<u8> {
    let texts = parts.iter().map_while(|part| part.text.as_deref());
    texts.collect::<Vec<_>>().concat()
}

fn is_empty(part: &Part) -> bool {
    part.text.as_ref().is_some_and(Vec::is_empty)
}

/// Makes blocks, and changes some, as the fuzzer chooses.
fn make_parts(choices: &mut Choices<'_>) -> Vec<Part> {
    let mut parts = vec![make_block(choices)];
    while !choices.is_empty() && parts.len() < MAX_BLOCKS {
        step(&mut parts, choices);
    }
    let total: usize = parts.iter().map(|part| part.bytes.len()).sum();
    match choices.byte() % 8 {
        0 => {}
        1 => truncate(&mut parts, choices.below(total + 1)),
        2 => parts.push(Part {
            bytes: choices.bytes(30).to_vec(),
            text: None,
        }),
        _ => parts.push(pack_block(&[], Level::DEFAULT, [&[], &[]])),
    }
    parts.retain(|part| !part.bytes.is_empty());
    parts
}

fn step(parts: &mut Vec<Part>, choices: &mut Choices<'_>) {
    let end = parts.len();
    let chosen = choices.below(end);
    match choices.byte() % 16 {
        0 if end > 1 => parts.swap(chosen, end - 1),
        1 if end > 1 => drop(parts.remove(chosen)),
        2 => parts.extend(vec![parts[chosen].clone(); 1 + choices.below(12)]),
        3 => parts.push(pack_block(&[], Level::DEFAULT, [&[], &[]])),
        4 => corrupt(&mut parts[chosen], Field::Size, choices),
        5 => corrupt(&mut parts[chosen], Field::Sum, choices),
        6 => corrupt(&mut parts[chosen], Field::Length, choices),
        7 => parts.insert(chosen, pack_block(&[], Level::NONE, [&[], &[]])),
        _ => parts.push(make_block(choices)),
    }
}

/// The field of a block that is changed.
enum Field {
    Size,
    Sum,
    Length,
}

/// Changes two bytes of a field, so that the block becomes invalid.
fn corrupt(part: &mut Part, field: Field, choices: &mut Choices<'_>) {
    let end = part.bytes.len();
    let at = match field {
        Field::Size => size_at(&part.bytes),
        Field::Sum => end.checked_sub(CHECKSUM_FROM_END),
        Field::Length => end.checked_sub(LENGTH_FROM_END),
    };
    let Some(field) = at.and_then(|at| part.bytes.get_mut(at..at + 2)) else {
        return;
    };
    let zero = [0; 2];
    let new = choices.short().to_le_bytes();
    let new = if choices.one_in(4) { zero } else { new };
    if part.text.is_some() && *field != new {
        field.copy_from_slice(&new);
        part.text = None;
    }
}

/// Returns the offset of the block size, which may follow other header fields.
fn size_at(block: &[u8]) -> Option<usize> {
    let before = block.windows(4).position(|bytes| bytes == b"BC\x02\0")?;
    Some(before + SIZE_OFFSET - 12)
}

/// Truncates the file at a byte.
fn truncate(parts: &mut Vec<Part>, at: usize) {
    let mut left = at;
    for part in parts {
        let size = mem::take(&mut left);
        if size >= part.bytes.len() {
            left = size - part.bytes.len();
            continue;
        }
        part.bytes.truncate(size);
        part.text = None;
    }
}

/// Makes a block as the fuzzer chooses.
fn make_block(choices: &mut Choices<'_>) -> Part {
    let levels = [Level::NONE, Level::BEST, Level::DEFAULT];
    let level = levels[choices.below(levels.len())];
    let text = match choices.byte() % 16 {
        0 => vec![choices.byte(); LARGE_TEXT_BYTES - choices.below(9)],
        1 => choices.bytes(1).repeat(choices.below(3000)),
        _ => {
            let size = usize::from(choices.byte());
            choices.bytes(size).to_vec()
        }
    };
    let fields = [0; 2].map(|_| field(choices));
    pack_block(&text, level, [&fields[0], &fields[1]])
}

/// Makes an additional header field, which is usually empty.
fn field(choices: &mut Choices<'_>) -> Vec<u8> {
    if !choices.one_in(8) {
        return Vec::new();
    }
    let size = choices.byte();
    let content = vec![choices.byte() & 0x3F; size.into()];
    [&[b'x', b'y', size, 0][..], &content].concat()
}

/// Makes a bgzip block with other header fields before and after the block size.
fn pack_block(text: &[u8], level: Level, [before, after]: [&[u8]; 2]) -> Part {
    let mut room = vec![0; compress_bound(Format::Deflate, text.len())];
    let mut encoder = Encoder::new(Format::Deflate, level);
    let packed = encoder.compress(text, &mut room, Flush::Finish).output;
    let extra = before.len() + 6 + after.len();
    let size = 12 + extra + packed.len() + 8;
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes();
    let sum = crc32fast::hash(text).to_le_bytes();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    let head = [b"\x1F\x8B\x08\x04\0\0\0\0\0\xFF", &short(extra)[..]].concat();
    let own = [b"BC\x02\0", &short(size - 1)[..]].concat();
    let bytes = [&head, before, &own, after, packed, &sum, &length].concat();
    Part {
        bytes,
        text: Some(text.to_vec()),
    }
}

/// Returns a valid bgzip file with `size` bytes of text in each block.
pub fn valid_bgzip(text: &[u8], size: usize) -> Vec<u8> {
    let texts = text.chunks(size).chain([&[][..]]);
    texts
        .flat_map(|text| pack_block(text, Level::DEFAULT, [&[], &[]]).bytes)
        .collect()
}
