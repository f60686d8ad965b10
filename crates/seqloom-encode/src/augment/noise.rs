//! Substitutions as likely as the qualities say.

use seqloom_core::{Error, Key, Result};

use super::draw::OpenLetter;
use super::mutate::{OpenQueue, fresh_bytes};
use super::{AugmentedRow, Chance, Replacement};

/// The chance that a letter of quality Q is wrong, 10^(-Q / 10), in parts of
/// 2^32 (for Q = 0 one part less); written out, so that no machine rounds it
/// another way.
#[rustfmt::skip]
const WRONG: [u32; 94] = [
    4_294_967_295, 3_411_613_790, 2_709_941_160, 2_152_582_778, 1_709_857_278, 1_358_187_913,
    1_078_847_007, 856_958_639, 680_706_443, 540_704_347, 429_496_730, 341_161_379,
    270_994_116, 215_258_278, 170_985_728, 135_818_791, 107_884_701, 85_695_864, 68_070_644,
    54_070_435, 42_949_673, 34_116_138, 27_099_412, 21_525_828, 17_098_573, 13_581_879,
    10_788_470, 8_569_586, 6_807_064, 5_407_043, 4_294_967, 3_411_614, 2_709_941, 2_152_583,
    1_709_857, 1_358_188, 1_078_847, 856_959, 680_706, 540_704, 429_497, 341_161, 270_994,
    215_258, 170_986, 135_819, 107_885, 85_696, 68_071, 54_070, 42_950, 34_116, 27_099, 21_526,
    17_099, 13_582, 10_788, 8_570, 6_807, 5_407, 4_295, 3_412, 2_710, 2_153, 1_710, 1_358,
    1_079, 857, 681, 541, 429, 341, 271, 215, 171, 136, 108, 86, 68, 54, 43, 34, 27, 22, 17,
    14, 11, 9, 7, 5, 4, 3, 3, 2,
];

/// Substitutes each letter by the chance that its quality gives.
#[derive(Clone, Debug)]
pub struct QualityNoise {
    offset: u8,
    replacement: Replacement,
}

impl QualityNoise {
    /// `offset` is the byte of quality 0: 33, or 64 for old files.
    pub fn new(offset: u8, replacement: Replacement) -> Result<Self> {
        if offset != 33 && offset != 64 {
            return Err(Error::argument(format!(
                "offset must be 33 or 64, got {offset}"
            )));
        }
        Ok(Self {
            offset,
            replacement,
        })
    }

    pub(super) fn apply(&self, row: &mut AugmentedRow, key: Key) -> Result<()> {
        if !row.has_qualities {
            return Err(Error::argument(
                "QualityNoise needs the qualities of the letters: pass quality= (or qualities=)",
            ));
        }
        let random = fresh_bytes(row, key);
        let outcome = self.substitute(row, key, &random);
        row.bytes = random;
        outcome
    }

    fn substitute(&self, row: &mut AugmentedRow, key: Key, random: &[u8]) -> Result<()> {
        let mut waiting = OpenQueue::new(key);
        let letters = &mut row.letters;
        let mut act = |open: OpenLetter| {
            let value = row.qualities[open.position] - self.offset;
            if Chance::of(WRONG[usize::from(value)]).holds(open.number) {
                let letter = &mut letters[open.position];
                *letter = self.replacement.instead(*letter, open.choice);
            }
        };
        for (position, (&byte, &quality)) in random.iter().zip(&row.qualities).enumerate() {
            let highest = self.highest(quality);
            if byte <= highest.ok_or_else(|| self.refused(row.record, position, quality))? {
                waiting.push(position, byte, &mut act);
            }
        }
        waiting.flush(&mut act);
        Ok(())
    }

    /// The largest byte that a letter of this quality may be wrong with.
    fn highest(&self, quality: u8) -> Option<u8> {
        let value = quality.checked_sub(self.offset)?;
        let threshold = WRONG.get(usize::from(value))?;
        Chance::of(*threshold).highest_byte()
    }

    fn refused(&self, record: usize, position: usize, quality: u8) -> Error {
        Error::argument(format!(
            "sequence {record}, position {position}: expected a quality from byte {} to 126, \
             found {quality}",
            self.offset
        ))
    }
}
