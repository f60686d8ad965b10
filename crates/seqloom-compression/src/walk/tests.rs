use std::io::Cursor;

use sirocco::deflate::Level;
use sirocco::{Format, compress};

use super::*;

#[derive(Default)]
struct Notes {
    text: Vec<u8>,
    borders: Vec<(u64, u64, usize)>,
}

impl Visitor for Notes {
    fn wants(&self, _: u64) -> bool {
        true
    }

    fn border(&mut self, border: &Border<'_>) -> Result<(), Trouble> {
        self.borders
            .push((border.bit, border.text, border.window.len()));
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.text.extend_from_slice(text);
        Ok(())
    }
}

fn notes(file: &[u8]) -> Result<Notes, Trouble> {
    let mut notes = Notes::default();
    walk(Input::new(Box::new(Cursor::new(file.to_vec()))), &mut notes)?;
    Ok(notes)
}

fn text(size: u32) -> Vec<u8> {
    (0..size)
        .map(|i| b"ACGTNacgt\n"[(i.wrapping_mul(2_654_435_761) >> 28) as usize % 10])
        .collect()
}

#[test]
fn it_inflates_what_the_fast_decoder_inflates() {
    for size in [0, 1, 300, 70_000, 3_000_000] {
        let text = text(size);
        let file = compress(Format::Gzip, Level::DEFAULT, &text);
        assert!(notes(&file).unwrap().text == text);
    }
}

#[test]
fn members_and_zeros_may_follow_each_other() {
    let (a, b) = (text(90_000), text(5));
    let pack = |text: &[u8]| compress(Format::Gzip, Level::DEFAULT, text);
    let file = [pack(&a), pack(b""), pack(&b), vec![0; 1000]].concat();
    assert!(notes(&file).unwrap().text == [a, b].concat());
}

#[test]
fn every_cut_and_every_flipped_bit_is_found() {
    let whole = text(400);
    let file = compress(Format::Gzip, Level::DEFAULT, &whole);
    for end in 1..file.len() {
        assert!(notes(&file[..end]).is_err(), "{end}");
    }
    for bit in 0..file.len() * 8 {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(
            notes(&file).map_or(true, |notes| notes.text == whole),
            "{bit}"
        );
    }
}

#[test]
fn a_border_knows_its_window() {
    let file = compress(Format::Gzip, Level::DEFAULT, &text(3_000_000));
    let borders = notes(&file).unwrap().borders;
    assert_eq!(borders[0], (80, 0, 0));
    assert!(borders.len() > 3);
    assert!(
        borders
            .iter()
            .skip(1)
            .all(|border| border.2 == border.1.min(32768) as usize)
    );
}
