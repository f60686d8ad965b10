use std::io::Cursor;

use sirocco::deflate::Level;
use sirocco::{Format, compress};

use super::*;

#[derive(Default)]
struct RecordedBlocks {
    text: Vec<u8>,
    starts: Vec<(u64, u64, usize)>,
}

impl Visitor for RecordedBlocks {
    fn is_useful_start(&self, _: u64) -> bool {
        true
    }

    fn visit_block_start(&mut self, start: &BlockStart<'_>) -> Result<(), ReadError> {
        self.starts
            .push((start.bit, start.text, start.window.len()));
        Ok(())
    }

    fn visit_text(&mut self, text: &[u8]) -> Result<(), ReadError> {
        self.text.extend_from_slice(text);
        Ok(())
    }
}

fn record_blocks(file: &[u8]) -> Result<RecordedBlocks, ReadError> {
    let mut notes = RecordedBlocks::default();
    visit_blocks(
        BufferedInput::new(Box::new(Cursor::new(file.to_vec()))),
        &mut notes,
    )?;
    Ok(notes)
}

fn sample_text(size: u32) -> Vec<u8> {
    (0..size)
        .map(|i| b"ACGTNacgt\n"[(i.wrapping_mul(2_654_435_761) >> 28) as usize % 10])
        .collect()
}

#[test]
fn the_slow_and_the_fast_gzip_decoder_return_the_same_text() {
    for size in [0, 1, 300, 70_000, 3_000_000] {
        let text = sample_text(size);
        let file = compress(Format::Gzip, Level::DEFAULT, &text);
        assert!(record_blocks(&file).unwrap().text == text);
    }
}

#[test]
fn zeros_and_other_gzip_members_may_follow_a_gzip_member() {
    let (a, b) = (sample_text(90_000), sample_text(5));
    let pack = |text: &[u8]| compress(Format::Gzip, Level::DEFAULT, text);
    let file = [pack(&a), pack(b""), pack(&b), vec![0; 1000]].concat();
    assert!(record_blocks(&file).unwrap().text == [a, b].concat());
}

#[test]
fn every_truncation_and_flipped_bit_is_an_error() {
    let whole = sample_text(400);
    let file = compress(Format::Gzip, Level::DEFAULT, &whole);
    for end in 1..file.len() {
        assert!(record_blocks(&file[..end]).is_err(), "{end}");
    }
    for bit in 0..file.len() * 8 {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(
            record_blocks(&file).map_or(true, |notes| notes.text == whole),
            "{bit}"
        );
    }
}

#[test]
fn a_block_start_contains_the_preceding_text() {
    let file = compress(Format::Gzip, Level::DEFAULT, &sample_text(3_000_000));
    let starts = record_blocks(&file).unwrap().starts;
    assert_eq!(starts[0], (80, 0, 0));
    assert!(starts.len() > 3);
    assert!(
        starts
            .iter()
            .skip(1)
            .all(|start| start.2 == start.1.min(32768) as usize)
    );
}
