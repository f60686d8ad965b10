//! Text that is not packed.

use super::{Text, Trouble};
use crate::input::Input;

/// A file that is text itself.
pub(super) struct Plain(Input);

impl Plain {
    pub(super) fn new(input: Input) -> Self {
        Self(input)
    }
}

impl Text for Plain {
    fn fill(&mut self) -> Result<&[u8], Trouble> {
        Ok(self.0.fill(1)?)
    }

    fn consume(&mut self, count: usize) {
        self.0.consume(count);
    }
}
