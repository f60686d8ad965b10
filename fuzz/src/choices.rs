//! Bytes of the fuzzer as choices: what to make, and what to do with it.

/// Choices that are taken one after the other; behind the last one each is 0.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// The choices that these bytes are.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    /// What is so in one of so many cases.
    pub fn one_in(&mut self, count: u8) -> bool {
        self.byte().is_multiple_of(count)
    }

    /// One of so many, from 0 on.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.short()) % count.max(1)
    }

    /// Two bytes as a number.
    pub fn short(&mut self) -> u16 {
        let found = self.bytes(2);
        found
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u16::from(*byte))
    }

    /// A number of 64 bits: a small one, one near a border, or any.
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

    /// At most so many bytes.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (found, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        found
    }

    /// The bytes up to the next one that is `end`, which is left out.
    pub fn until(&mut self, end: u8) -> &'a [u8] {
        let size = self.0.iter().position(|byte| *byte == end);
        let found = self.bytes(size.unwrap_or(self.0.len()));
        self.bytes(1);
        found
    }

    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
