//! Random substitutions with the error probabilities of the qualities.

use seqloom_core::{Error, Key, Result};

use super::mutate::{CandidateQueue, random_bytes};
use super::random::Candidate;
use super::{AugmentedRow, Chance, Replacement};

/// The threshold of each quality Q: its error probability 10^(-Q / 10), multiplied by
/// 2^32 (minus 1 for Q = 0). The thresholds are constants, so that they are the same on
/// every machine.
#[rustfmt::skip]
const ERROR_THRESHOLDS: [u32; 94] = [
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

/// An augmentation that substitutes each residue with the error probability of its
/// quality.
#[derive(Clone, Debug)]
pub struct QualityNoise {
    offset: u8,
    replacement: Replacement,
}

impl QualityNoise {
    /// Creates the augmentation. `offset` is the byte that encodes quality 0: 33, or 64
    /// in old files.
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
                "QualityNoise needs qualities: pass quality= (or qualities=)",
            ));
        }
        let random = random_bytes(row, key);
        let outcome = self.substitute(row, key, &random);
        row.bytes = random;
        outcome
    }

    fn substitute(&self, row: &mut AugmentedRow, key: Key, random: &[u8]) -> Result<()> {
        let mut queue = CandidateQueue::new(key);
        let letters = &mut row.letters;
        let mut act = |candidate: Candidate| {
            let value = row.qualities[candidate.position] - self.offset;
            if Chance::from_threshold(ERROR_THRESHOLDS[usize::from(value)]).occurs(candidate.number)
            {
                let letter = &mut letters[candidate.position];
                *letter = self.replacement.substitute(*letter, candidate.choice);
            }
        };
        for (position, (&byte, &quality)) in random.iter().zip(&row.qualities).enumerate() {
            let highest = self.highest_byte(quality);
            if byte <= highest.ok_or_else(|| self.invalid_quality(row.record, position, quality))? {
                queue.push(position, byte, &mut act);
            }
        }
        queue.flush(&mut act);
        Ok(())
    }

    /// Returns the largest random byte for which a residue of this quality may be
    /// substituted.
    fn highest_byte(&self, quality: u8) -> Option<u8> {
        let value = quality.checked_sub(self.offset)?;
        let threshold = ERROR_THRESHOLDS.get(usize::from(value))?;
        Chance::from_threshold(*threshold).highest_byte()
    }

    fn invalid_quality(&self, record: usize, position: usize, quality: u8) -> Error {
        Error::argument(format!(
            "sequence {record}, position {position}: expected a quality from byte {} to 126, \
             found {quality}",
            self.offset
        ))
    }
}
