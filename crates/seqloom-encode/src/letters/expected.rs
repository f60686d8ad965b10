//! What an error says about the letters that are taken.

/// The letters that are taken, and hints for those that are not.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    taken: String,
    hints: Vec<(u8, &'static str)>,
}

impl Expected {
    pub(super) fn new(taken: String) -> Self {
        Self {
            taken,
            hints: Vec::new(),
        }
    }

    /// Adds a hint for the error of this letter, unless there is one.
    pub(super) fn hint(&mut self, letter: u8, hint: &'static str) {
        self.hints.push((letter, hint));
    }

    /// What was expected where `letter` stands.
    pub(super) fn but_found(&self, letter: u8) -> String {
        let mut hints = self.hints.iter();
        match hints.find(|(known, _)| *known == letter) {
            Some((_, hint)) => format!("{}; {hint}", self.taken),
            None => self.taken.clone(),
        }
    }
}
