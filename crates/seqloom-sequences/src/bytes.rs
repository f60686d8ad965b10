//! Validation of whole lines of bytes, many bytes at a time.

#![expect(clippy::inline_always, reason = "compiled for each instruction set")]

/// A set of valid bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteClass {
    /// The residues: printable ASCII characters except `>`.
    Letter,
    /// The qualities, from the lowest byte of the quality encoding to `~`.
    Quality(u8),
}

impl ByteClass {
    /// Returns true if the class contains a byte.
    #[inline(always)]
    pub fn has(self, byte: u8) -> bool {
        match self {
            Self::Letter => byte.wrapping_sub(b'!') <= b'~' - b'!' && byte != b'>',
            Self::Quality(lowest) => byte.wrapping_sub(lowest) <= b'~' - lowest,
        }
    }

    /// Returns true if the class contains all bytes.
    #[inline(always)]
    pub fn has_all(self, bytes: &[u8]) -> bool {
        match self {
            Self::Letter => all_bytes_match(bytes, ResidueRule),
            Self::Quality(lowest) => all_bytes_match(bytes, QualityRule(lowest)),
        }
    }

    /// Returns the index of the first byte that is not in the class.
    pub fn first_invalid(self, bytes: &[u8]) -> Option<usize> {
        if self.has_all(bytes) {
            return None;
        }
        bytes.iter().position(|byte| !self.has(*byte))
    }
}

/// Returns true if a header may consist of these bytes. Line ends and NUL are invalid
/// in a header.
#[inline(always)]
pub fn is_one_line(bytes: &[u8]) -> bool {
    all_bytes_match(bytes, OneLineRule)
}

/// The number of bytes that are checked together as one integer.
const INTEGER_BYTES: usize = size_of::<u64>();
/// The number of 8-byte integers that are checked together.
const CHUNK_INTEGERS: usize = 4;
/// The top bit of each byte.
const TOP_BITS: u64 = repeat_byte(0x80);

/// Returns an integer that consists of 8 equal bytes.
#[inline(always)]
const fn repeat_byte(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; INTEGER_BYTES])
}

/// A condition for bytes. Each condition is a type and not a closure, because the
/// compiler does not always inline closures.
trait ByteRule: Copy {
    /// Returns an integer in which the top bit is set for each byte that meets the
    /// condition. If all bytes meet the condition, all top bits are set. If some bytes
    /// do not meet the condition, at least one top bit is clear, but the other top bits
    /// may be wrong.
    fn valid_bits(self, word: u64) -> u64;
}

#[derive(Clone, Copy)]
struct ResidueRule;

#[derive(Clone, Copy)]
struct QualityRule(u8);

#[derive(Clone, Copy)]
struct OneLineRule;

impl ByteRule for ResidueRule {
    #[inline(always)]
    fn valid_bits(self, word: u64) -> u64 {
        in_range_bits(word, b'!') & different_bits(word, b'>')
    }
}

impl ByteRule for QualityRule {
    #[inline(always)]
    fn valid_bits(self, word: u64) -> u64 {
        in_range_bits(word, self.0)
    }
}

impl ByteRule for OneLineRule {
    #[inline(always)]
    fn valid_bits(self, word: u64) -> u64 {
        different_bits(word, b'\n') & different_bits(word, b'\r') & different_bits(word, 0)
    }
}

/// Returns true if all bytes meet a condition. The last bytes of a long line are
/// checked twice, which is faster than checking them one by one.
#[inline(always)]
fn all_bytes_match(bytes: &[u8], rule: impl ByteRule) -> bool {
    let Some(last) = bytes.last_chunk::<{ INTEGER_BYTES * CHUNK_INTEGERS }>() else {
        return all_match_in_short_line(bytes, rule);
    };
    let mut all = chunk_valid_bits(last, rule);
    for chunk in bytes.as_chunks::<{ INTEGER_BYTES * CHUNK_INTEGERS }>().0 {
        for (all, bits) in all.iter_mut().zip(chunk_valid_bits(chunk, rule)) {
            *all &= bits;
        }
    }
    all.iter().fold(TOP_BITS, |both, word| both & word) == TOP_BITS
}

/// Returns the top bits of each integer of a chunk, as `valid_bits` does. The compiler
/// combines the integers into one AVX2 vector.
#[inline(always)]
fn chunk_valid_bits(
    chunk: &[u8; INTEGER_BYTES * CHUNK_INTEGERS],
    rule: impl ByteRule,
) -> [u64; CHUNK_INTEGERS] {
    // A loop is used because closures of `array::from_fn` are not always inlined and
    // vectorised.
    let mut results = [0; CHUNK_INTEGERS];
    for (result, word) in results.iter_mut().zip(chunk.as_chunks::<INTEGER_BYTES>().0) {
        *result = rule.valid_bits(u64::from_ne_bytes(*word));
    }
    results
}

#[inline(always)]
fn all_match_in_short_line(bytes: &[u8], rule: impl ByteRule) -> bool {
    let Some(last) = bytes.last_chunk::<INTEGER_BYTES>() else {
        return bytes.iter().fold(true, |all, byte| {
            all & (rule.valid_bits(repeat_byte(*byte)) & TOP_BITS == TOP_BITS)
        });
    };
    let mut all = rule.valid_bits(u64::from_ne_bytes(*last));
    for chunk in bytes.as_chunks::<INTEGER_BYTES>().0 {
        all &= rule.valid_bits(u64::from_ne_bytes(*chunk));
    }
    all & TOP_BITS == TOP_BITS
}

/// Returns an integer with the top bit set for each byte from `low` to `~`. The top bit
/// of a byte above `~` is clear, but such a byte may change the top bits of adjacent
/// bytes.
#[inline(always)]
fn in_range_bits(word: u64, low: u8) -> u64 {
    let above = word | word.wrapping_add(repeat_byte(0x7F - b'~'));
    (word | TOP_BITS).wrapping_sub(repeat_byte(low)) & !above
}

/// Returns an integer with the top bit set for each byte that differs from `other`. The
/// top bit of a byte that equals `other` is clear, but such a byte may change the top
/// bits of adjacent bytes.
#[inline(always)]
fn different_bits(word: u64, other: u8) -> u64 {
    let zeros = word ^ repeat_byte(other);
    zeros | !zeros.wrapping_sub(repeat_byte(1))
}

/// Returns a description of an unexpected byte for an error message.
pub fn describe_byte(byte: u8) -> String {
    match byte {
        b' ' => "a space".into(),
        b'\t' => "a tab".into(),
        b'\r' => "a lone carriage return (expected lines that end in \\n or \\r\\n)".into(),
        b'>' => "'>' within a line (the line end before it is missing)".into(),
        0 => "a NUL byte".into(),
        b'!'..=b'~' => format!("{:?}", char::from(byte)),
        _ => format!("the byte 0x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_invalid_byte_is_found_at_any_position() {
        for length in 1..130 {
            for position in 0..length {
                let mut line = vec![b'h'; length];
                assert!(ByteClass::Letter.has_all(&line));
                line[position] = b'>';
                assert!(!ByteClass::Letter.has_all(&line), "{position} of {length}");
            }
        }
    }

    #[test]
    fn a_line_of_any_length_is_checked_like_its_bytes() {
        use ByteClass::{Letter, Quality};
        for class in [Letter, Quality(b'!'), Quality(b'@')] {
            for (length, byte) in (1..80).flat_map(|n| (0..=255).map(move |byte| (n, byte))) {
                let mut line = vec![b'h'; length];
                line[length * 2 / 3] = byte;
                assert_eq!(class.has_all(&line), class.has(byte), "{class:?} {byte}");
            }
        }
    }
}
