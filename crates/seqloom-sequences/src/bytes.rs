//! What bytes may stand where: whole lines at once, without a branch for each.

#![expect(
    clippy::inline_always,
    reason = "compiled anew for each instruction set"
)]

/// What a byte must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A letter of a sequence: printable ASCII but `>`.
    Letter,
    /// A quality, from the lowest of its encoding to `~`.
    Quality(u8),
}

impl Class {
    /// Whether one byte is of the class.
    #[inline(always)]
    pub fn has(self, byte: u8) -> bool {
        match self {
            Self::Letter => byte.wrapping_sub(b'!') <= b'~' - b'!' && byte != b'>',
            Self::Quality(lowest) => byte.wrapping_sub(lowest) <= b'~' - lowest,
        }
    }

    /// Whether all bytes are of the class.
    #[inline(always)]
    pub fn has_all(self, bytes: &[u8]) -> bool {
        match self {
            Self::Letter => all_match(bytes, LetterRule),
            Self::Quality(lowest) => all_match(bytes, FromRule(lowest)),
        }
    }

    /// The first byte that is not.
    pub fn misfit(self, bytes: &[u8]) -> Option<usize> {
        if self.has_all(bytes) {
            return None;
        }
        bytes.iter().position(|byte| !self.has(*byte))
    }
}

/// Whether a header may be made of these bytes: no line end and no NUL.
#[inline(always)]
pub fn is_one_line(bytes: &[u8]) -> bool {
    all_match(bytes, OneLineRule)
}

/// Eight bytes are checked at once, in one number.
const WIDE: usize = size_of::<u64>();
/// The number of such words that are checked at once in a long line.
const WORDS: usize = 4;
/// The highest bit of each byte.
const TOPS: u64 = of_each(0x80);

/// A number whose bytes are all the same.
#[inline(always)]
const fn of_each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WIDE])
}

/// What bytes must be. (Types instead of closures, because the compiler inlines these.)
trait ByteRule: Copy {
    /// The top bit of each byte that is as it must be; exact for all together.
    fn answer(self, word: u64) -> u64;
}

#[derive(Clone, Copy)]
struct LetterRule;

#[derive(Clone, Copy)]
struct FromRule(u8);

#[derive(Clone, Copy)]
struct OneLineRule;

impl ByteRule for LetterRule {
    #[inline(always)]
    fn answer(self, word: u64) -> u64 {
        lies_between(word, b'!') & differs(word, b'>')
    }
}

impl ByteRule for FromRule {
    #[inline(always)]
    fn answer(self, word: u64) -> u64 {
        lies_between(word, self.0)
    }
}

impl ByteRule for OneLineRule {
    #[inline(always)]
    fn answer(self, word: u64) -> u64 {
        differs(word, b'\n') & differs(word, b'\r') & differs(word, 0)
    }
}

/// Checks all bytes. Checks the last ones of a long line twice instead of one by one.
#[inline(always)]
fn all_match(bytes: &[u8], rule: impl ByteRule) -> bool {
    let Some(last) = bytes.last_chunk::<{ WIDE * WORDS }>() else {
        return few_match(bytes, rule);
    };
    let mut all = answers(last, rule);
    for chunk in bytes.as_chunks::<{ WIDE * WORDS }>().0 {
        for (all, these) in all.iter_mut().zip(answers(chunk, rule)) {
            *all &= these;
        }
    }
    all.iter().fold(TOPS, |both, word| both & word) == TOPS
}

/// The answers to as many words as a vector of AVX2 has: the compiler makes one of them.
#[inline(always)]
fn answers(chunk: &[u8; WIDE * WORDS], rule: impl ByteRule) -> [u64; WORDS] {
    // A loop: closures of `array::from_fn` are not always inlined, and vectors are lost then.
    let mut answers = [0; WORDS];
    for (answer, word) in answers.iter_mut().zip(chunk.as_chunks::<WIDE>().0) {
        *answer = rule.answer(u64::from_ne_bytes(*word));
    }
    answers
}

#[inline(always)]
fn few_match(bytes: &[u8], rule: impl ByteRule) -> bool {
    let Some(last) = bytes.last_chunk::<WIDE>() else {
        return bytes.iter().fold(true, |all, byte| {
            all & (rule.answer(of_each(*byte)) & TOPS == TOPS)
        });
    };
    let mut all = rule.answer(u64::from_ne_bytes(*last));
    for chunk in bytes.as_chunks::<WIDE>().0 {
        all &= rule.answer(u64::from_ne_bytes(*chunk));
    }
    all & TOPS == TOPS
}

/// The top bit of each byte that lies from `low` to `~`. A byte that is above
/// may change the bits of its neighbours, but its own is clear.
#[inline(always)]
fn lies_between(word: u64, low: u8) -> u64 {
    let above = word | word.wrapping_add(of_each(0x7F - b'~'));
    (word | TOPS).wrapping_sub(of_each(low)) & !above
}

/// The top bit of each byte that is not `other`. A byte that is may change the
/// bits of its neighbours, but its own is clear.
#[inline(always)]
fn differs(word: u64, other: u8) -> u64 {
    let zeros = word ^ of_each(other);
    zeros | !zeros.wrapping_sub(of_each(1))
}

/// A byte in words, for an error.
pub fn name(byte: u8) -> String {
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
    fn one_wrong_byte_is_found_wherever_it_stands() {
        for length in 1..130 {
            for position in 0..length {
                let mut line = vec![b'h'; length];
                assert!(Class::Letter.has_all(&line));
                line[position] = b'>';
                assert!(!Class::Letter.has_all(&line), "{position} of {length}");
            }
        }
    }

    #[test]
    fn a_line_of_any_length_is_judged_like_its_bytes() {
        for class in [Class::Letter, Class::Quality(b'!'), Class::Quality(b'@')] {
            for (length, byte) in (1..80).flat_map(|n| (0..=255).map(move |byte| (n, byte))) {
                let mut line = vec![b'h'; length];
                line[length * 2 / 3] = byte;
                assert_eq!(class.has_all(&line), class.has(byte), "{class:?} {byte}");
            }
        }
    }
}
