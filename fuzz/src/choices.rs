//! Interprets the bytes of the fuzzer as a sequence of choices.

/// A sequence of choices. Each choice is computed from the next bytes. After the last
/// byte, each choice is 0.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Creates the choices from bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns true if no byte is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    /// Returns true with a probability of one in `count`, depending on the next byte.
    pub fn one_in(&mut self, count: u8) -> bool {
        self.byte().is_multiple_of(count)
    }

    /// Returns a number from 0 to `count - 1`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.short()) % count.max(1)
    }

    /// Returns two bytes as a number.
    pub fn short(&mut self) -> u16 {
        let found = self.bytes(2);
        found
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u16::from(*byte))
    }

    /// Returns a 64-bit number, which is small, near a limit, or arbitrary.
    pub fn number(&mut self) -> u64 {
        match self.byte() % 8 {
            0..=2 => u64::from(self.byte()),
            3 => u64::MAX - u64::from(self.byte()),
            4 => (1 << (self.byte() % 64)) - u64::from(self.byte() % 2),
            5 => i64::MAX as u64 - u64::from(self.byte()) + 128,
            _ => {
                let found = self.bytes(8);
                found
                    .iter()
                    .fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
        }
    }

    /// Returns at most `count` bytes.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (found, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        found
    }

    /// Returns the bytes before the next byte `end`, and skips that byte.
    pub fn until(&mut self, end: u8) -> &'a [u8] {
        let size = self.0.iter().position(|byte| *byte == end);
        let found = self.bytes(size.unwrap_or(self.0.len()));
        self.bytes(1);
        found
    }

    /// Returns all remaining bytes.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
