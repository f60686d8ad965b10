//! The errors of the FASTQ parser, with their messages.

use seqloom_core::error::{Fault, FaultCause, FaultKind};

use super::{FastqParser, FastqState};
use crate::{bytes::describe_byte, cursor::InvalidBytes, sink::Position};

impl FastqParser {
    pub(super) fn invalid_bytes(&self, invalid: InvalidBytes) -> Fault {
        match (invalid, self.state) {
            (InvalidBytes::Byte(position, byte), FastqState::Between) => {
                self.text_between_records(position, byte)
            }
            (InvalidBytes::Byte(position, byte), FastqState::Quality) => {
                let lowest_quality = char::from(self.lowest_quality);
                let message = format!(
                    "expected a quality from '{lowest_quality}' to '~', found {}",
                    describe_byte(byte)
                );
                self.cursor.fault(FaultKind::Quality, position, message)
            }
            (InvalidBytes::Byte(position, byte), _) => {
                let message = format!("expected a residue, found {}", describe_byte(byte));
                self.cursor.fault(FaultKind::Letter, position, message)
            }
            (InvalidBytes::Excess(position), FastqState::Quality) => {
                let message = format!(
                    "expected {} qualities, one for each residue, found more",
                    self.cursor.length
                );
                self.cursor.fault(FaultKind::Length, position, message)
            }
            (InvalidBytes::Excess(position), _) => {
                self.cursor.long_record_fault(position, self.max_record)
            }
        }
    }

    /// Returns the error for text between two records.
    pub(super) fn text_between_records(&self, position: Position, byte: u8) -> Fault {
        let location = match self.completed {
            0 => "",
            _ => " after the qualities of the previous record",
        };
        let message = format!(
            "expected '@' and an id, found {}{location}",
            describe_byte(byte)
        );
        Fault {
            record: Some(self.cursor.begun),
            id: None,
            ..self.cursor.fault(FaultKind::Header, position, message)
        }
    }

    pub(super) fn missing_residues(&self) -> Fault {
        let message = "expected a line of residues (it may be empty), found '+'";
        Fault {
            cause: Some(FaultCause::MissingSequenceLine),
            ..self
                .cursor
                .fault(FaultKind::Letter, self.cursor.position, message)
        }
    }

    pub(super) fn lone_carriage_return(&self, position: Position) -> Fault {
        if self.empty_lines.1 > 0 && !self.is_between_records() {
            return self.empty_line_fault();
        }
        self.invalid_bytes(InvalidBytes::Byte(position, b'\r'))
    }

    pub(super) fn empty_line_fault(&self) -> Fault {
        let (kind, expected) = match self.state {
            FastqState::Quality => (FaultKind::Length, "qualities"),
            _ => (FaultKind::Letter, "residues"),
        };
        let message = format!("expected {expected}, found an empty line inside a record");
        self.cursor.fault(kind, self.empty_lines.0, message)
    }

    pub(super) fn missing_plus_line(&self) -> Fault {
        let message = "expected residues or '+', found '@': the previous record is incomplete";
        self.cursor
            .fault(FaultKind::Cut, self.cursor.position, message)
    }

    pub(super) fn truncated_record(&self) -> Fault {
        let letters = self.cursor.length;
        let message = match self.state {
            FastqState::Header => "the text ends inside a header".into(),
            FastqState::Plus => "the text ends at the line of '+'".into(),
            FastqState::Quality => format!(
                "the text ends inside a record: expected {letters} qualities, found {}",
                letters - self.missing
            ),
            _ => format!("the text ends inside a record: expected '+' after {letters} residues"),
        };
        self.cursor
            .fault(FaultKind::Cut, self.cursor.position, message)
    }
}
