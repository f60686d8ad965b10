//! The description of the accepted characters in an error message.

/// The description of the accepted characters, and hints for rejected characters.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedLetters {
    accepted: String,
    hints: Vec<(u8, &'static str)>,
}

impl ExpectedLetters {
    pub(super) fn new(accepted: String) -> Self {
        Self {
            accepted,
            hints: Vec::new(),
        }
    }

    /// Adds a hint to the error for this character. The first hint for a character is
    /// used.
    pub(super) fn add_hint(&mut self, letter: u8, hint: &'static str) {
        self.hints.push((letter, hint));
    }

    /// Returns the description of the accepted characters, with the hint for `letter`
    /// if there is one.
    pub(super) fn describe(&self, letter: u8) -> String {
        let mut hints = self.hints.iter();
        match hints.find(|(known, _)| *known == letter) {
            Some((_, hint)) => format!("{}; {hint}", self.accepted),
            None => self.accepted.clone(),
        }
    }
}
