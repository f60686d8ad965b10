//! What goes wrong, in words.

use seqloom_core::error::{Fault, FaultCause, Kind};

use super::{FastqParser, FastqState};
use crate::bytes::name;
use crate::cursor::Misfit;
use crate::sink::Position;

impl FastqParser {
    pub(super) fn misfit(&self, misfit: Misfit) -> Fault {
        match (misfit, self.within) {
            (Misfit::Byte(position, byte), FastqState::Between) => self.stray(position, byte),
            (Misfit::Byte(position, byte), FastqState::Quality) => {
                let lowest = char::from(self.lowest);
                let message = format!(
                    "expected a quality from '{lowest}' to '~', found {}",
                    name(byte)
                );
                self.cursor.fault(Kind::Quality, position, message)
            }
            (Misfit::Byte(position, byte), _) => {
                let message = format!("expected a letter, found {}", name(byte));
                self.cursor.fault(Kind::Letter, position, message)
            }
            (Misfit::Excess(position), FastqState::Quality) => {
                let message = format!(
                    "expected {} qualities, as many as letters, found more",
                    self.cursor.length
                );
                self.cursor.fault(Kind::Length, position, message)
            }
            (Misfit::Excess(position), _) => self.cursor.too_long(position, self.max_record),
        }
    }

    /// Something else than '@' between two records.
    pub(super) fn stray(&self, position: Position, byte: u8) -> Fault {
        let behind = match self.completed {
            0 => "",
            _ => " behind the qualities of the record before",
        };
        let message = format!("expected '@' and an id, found {}{behind}", name(byte));
        Fault {
            record: Some(self.cursor.begun),
            id: None,
            ..self.cursor.fault(Kind::Header, position, message)
        }
    }

    pub(super) fn no_letters(&self) -> Fault {
        let message = "expected a line of letters (it may be empty), found '+'";
        Fault {
            cause: Some(FaultCause::MissingSequenceLine),
            ..self
                .cursor
                .fault(Kind::Letter, self.cursor.position, message)
        }
    }

    pub(super) fn lone_carriage(&self, position: Position) -> Fault {
        if self.empty.1 > 0 && !self.is_between() {
            return self.empty_line();
        }
        self.misfit(Misfit::Byte(position, b'\r'))
    }

    pub(super) fn empty_line(&self) -> Fault {
        let (kind, expected) = match self.within {
            FastqState::Quality => (Kind::Length, "qualities"),
            _ => (Kind::Letter, "letters"),
        };
        let message = format!("expected {expected}, found an empty line inside a record");
        self.cursor.fault(kind, self.empty.0, message)
    }

    pub(super) fn no_plus(&self) -> Fault {
        let message = "expected letters or '+', found '@': the record before it is not complete";
        self.cursor.fault(Kind::Cut, self.cursor.position, message)
    }

    pub(super) fn cut(&self) -> Fault {
        let letters = self.cursor.length;
        let message = match self.within {
            FastqState::Header => "the text ends inside a header".into(),
            FastqState::Plus => "the text ends at the line of '+'".into(),
            FastqState::Quality => format!(
                "the text ends inside a record: expected {letters} qualities, found {}",
                letters - self.missing
            ),
            _ => format!("the text ends inside a record: expected '+' behind {letters} letters"),
        };
        self.cursor.fault(Kind::Cut, self.cursor.position, message)
    }
}
