//! A report about the records that were read and skipped.

use std::collections::BTreeMap;

use seqloom_core::error::{Fault, FaultKind};

use crate::options::OnError;

/// The maximum number of errors that are stored. All errors are counted.
const MAX_STORED_FAULTS: usize = 1000;

/// The numbers of records that were read and skipped, and the errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// The number of records that were read.
    pub records: u64,
    /// The number of skipped records for each kind of error. An error can hide the
    /// start of the next record, so one counted error may affect several records.
    pub left_out: BTreeMap<FaultKind, u64>,
    /// The first 1000 errors, if the option is [`OnError::Collect`].
    pub faults: Vec<Fault>,
}

impl ReadReport {
    /// Returns the number of errors.
    pub fn count(&self) -> u64 {
        self.left_out.values().sum()
    }

    pub(crate) fn add(&mut self, fault: Fault, on_error: OnError) {
        *self.left_out.entry(fault.kind).or_default() += 1;
        if on_error == OnError::Collect && self.faults.len() < MAX_STORED_FAULTS {
            self.faults.push(fault);
        }
    }
}
