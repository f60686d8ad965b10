//! Simple encoders, to which the results of the kernels are compared.

use seqloom_core::{Error, Ragged};
use seqloom_encode::{
    KmerCounts, KmerNumbering, Kmers, LetterTable, Lookup, OneHot, RowKernel, RowLayout,
    TokenFrame, encode, one_hot,
};

/// Maximal number of different k-mers that are counted.
const MAX_WORDS: u64 = 1 << 12;
/// Index of the last base. The complement of the base with index i has index
/// `LAST_BASE` - i.
const LAST_BASE: usize = 3;

/// Settings of k-mers.
pub(crate) struct WordSettings {
    pub(crate) words: KmerNumbering,
    pub(crate) k: usize,
    pub(crate) stride: usize,
    pub(crate) is_canonical: bool,
}

/// Sequences, and the extra width of their output rows.
pub(crate) struct SimpleEncoder<'a> {
    pub(crate) letters: &'a LetterTable,
    pub(crate) sequences: &'a Ragged<'a>,
    pub(crate) more: usize,
}

impl SimpleEncoder<'_> {
    /// Fills rows with a kernel, and compares the rows with those of the simple
    /// encoder.
    fn compare(&self, kernel: &dyn RowKernel<u32>, slow: impl Fn(&[u8], usize) -> Vec<u32>) {
        let rows = self
            .sequences
            .iter()
            .map(|row| self.letters.strip_stop(row));
        let rows: Vec<&[u8]> = rows.collect();
        let least = rows
            .iter()
            .map(|row| kernel.row_len(row.len()))
            .max()
            .unwrap_or_default();
        let width = self.width(kernel, least);
        let mut out = vec![7; width * self.sequences.len()];
        let filled = encode(
            (self.letters, kernel),
            self.sequences,
            &mut out,
            RowLayout::Equal,
        );
        match (filled, self.first_rejected()) {
            (Ok(_), None) => {
                for (row, found) in rows.into_iter().zip(out.chunks(width.max(1))) {
                    assert_eq!(found, slow(row, width));
                }
            }
            (
                Err(Error::Letter {
                    record,
                    position,
                    letter,
                    ..
                }),
                Some(wanted),
            ) => {
                assert_eq!((record, position, letter), wanted);
            }
            (found, wanted) => panic!("{found:?}, not {wanted:?}"),
        }
        if let Some(short) = least.checked_sub(1) {
            let room = &mut vec![0; short * self.sequences.len()];
            let filled = encode(
                (self.letters, kernel),
                self.sequences,
                room,
                RowLayout::Equal,
            );
            assert!(filled.is_err(), "rows that are too short");
        }
    }

    /// Returns the width of rows; one-hot rows have a whole number of positions.
    fn width(&self, kernel: &dyn RowKernel<u32>, least: usize) -> usize {
        least + self.more * (kernel.row_len(2) - kernel.row_len(1)).max(1)
    }

    /// Returns the record, position and value of the first rejected character.
    fn first_rejected(&self) -> Option<(usize, usize, u8)> {
        let rejected = self.letters.rejected_bytes();
        let strips = self.letters.strips_stop();
        let is_rejected = |letter: &u8| rejected.contains(letter) || strips && *letter == b'*';
        self.sequences.iter().enumerate().find_map(|(record, row)| {
            let row = self.letters.strip_stop(row);
            let at = row.iter().position(is_rejected)?;
            Some((record, at, row[at]))
        })
    }

    /// Returns the one-hot channels of a character: 1 for a residue, 2 for each residue
    /// of an ambiguity code.
    fn channels(&self, letter: u8) -> Vec<u32> {
        let normal = self.letters.residue_by_byte()[usize::from(letter)];
        let codes = self.letters.ambiguities().iter();
        let code = codes.clone().find(|(code, _)| *code == normal);
        let is_member = self.letters.residues().contains(&normal);
        let channel = |member: &u8| match code.filter(|_| !is_member) {
            _ if *member == normal => 1,
            Some((_, members)) if members.contains(member) => 2,
            _ => 0,
        };
        self.letters.residues().iter().map(channel).collect()
    }

    pub(crate) fn one_hot(&self, channels_first: bool) {
        let rows = (0..=u8::MAX).flat_map(|byte| self.channels(byte)).collect();
        let kernel = OneHot::<u32>::new(self.letters, rows, channels_first).expect("256 rows");
        let width = self.letters.residues().len();
        self.compare(&kernel, |row, size| {
            let positions = size / width;
            let at = |position: usize, channel: usize| match channels_first {
                true => channel * positions + position,
                false => position * width + channel,
            };
            let mut wanted = vec![0; size];
            for (position, letter) in row.iter().enumerate() {
                for (channel, number) in self.channels(*letter).into_iter().enumerate() {
                    wanted[at(position, channel)] = number;
                }
            }
            wanted
        });
        self.decode(channels_first);
    }

    /// Checks that decoding arbitrary numbers returns one residue for each position.
    fn decode(&self, channels_first: bool) {
        let width = self.letters.residues().len();
        let floats = self
            .sequences
            .iter()
            .flatten()
            .map(|byte| f32::from_bits(u32::from(*byte) << 24));
        let floats: Vec<f32> = floats.collect();
        let length = floats.len() / width;
        let sizes = if channels_first {
            [1, width, length]
        } else {
            [1, length, width]
        };
        let layout = one_hot::OneHotLayout::new(sizes, channels_first);
        let found = one_hot::decode(self.letters, &floats[..length * width], layout);
        assert!(found.is_ok_and(|rows| rows.len() == 1 && rows[0].len() == length));
    }

    pub(crate) fn look_up(&self, frame: TokenFrame<u32>) {
        let values: Vec<u32> = (0..256).collect();
        let kernel = Lookup::new(&values, frame).expect("256 values");
        self.compare(&kernel, |row, size| {
            framed(frame, row.iter().map(|letter| u32::from(*letter)), size)
        });
    }

    pub(crate) fn words(&self, settings: &WordSettings, frame: TokenFrame<u32>) {
        let kernel = Kmers {
            words: settings.words.clone(),
            first: 5,
            unknown: 4,
            frame,
        };
        self.compare(&kernel, |row, size| {
            let numbers = self.numbers(row, settings);
            let token = |number: Option<u64>| number.map_or(4, |number| (number + 5) as u32);
            framed(frame, numbers.into_iter().map(token), size)
        });
        if settings.words.distinct_count() > MAX_WORDS {
            return;
        }
        let kernel = KmerCounts {
            words: settings.words.clone(),
            is_float: false,
        };
        self.compare(&kernel, |row, size| {
            let mut wanted = vec![0; size];
            for number in self.numbers(row, settings).into_iter().flatten() {
                wanted[number as usize] += 1;
            }
            wanted
        });
    }

    /// Returns the index of each k-mer; `None` if a character is not a residue of the
    /// alphabet.
    fn numbers(&self, row: &[u8], settings: &WordSettings) -> Vec<Option<u64>> {
        let members = self.letters.residues();
        let digit = |letter: &u8| {
            let normal = self.letters.residue_by_byte()[usize::from(*letter)];
            members.iter().position(|member| *member == normal)
        };
        let base = members.len() as u64;
        let number = |digits: &mut dyn Iterator<Item = usize>| {
            digits.fold(0_u64, |number, digit| {
                number.wrapping_mul(base).wrapping_add(digit as u64)
            })
        };
        let words = row
            .windows(settings.k)
            .step_by(settings.stride)
            .map(|word| {
                let digits: Vec<usize> = word.iter().map(digit).collect::<Option<_>>()?;
                let forward = number(&mut digits.iter().copied());
                let backward = || number(&mut digits.iter().rev().map(|digit| LAST_BASE - digit));
                Some(if settings.is_canonical {
                    forward.min(backward())
                } else {
                    forward
                })
            });
        words.collect()
    }
}

fn framed(frame: TokenFrame<u32>, tokens: impl Iterator<Item = u32>, size: usize) -> Vec<u32> {
    let tokens = frame.head.into_iter().chain(tokens).chain(frame.tail);
    let mut row: Vec<u32> = tokens.collect();
    row.resize(size, frame.pad);
    row
}
