//! What was left out of a file, and why.

use std::collections::BTreeMap;

use seqloom_core::error::{Fault, Kind};

use crate::options::OnError;

/// So many faults are kept; all are counted.
const MOST: usize = 1000;

/// What was left out of a file, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many records were read.
    pub records: u64,
    /// How many faults were passed over, by kind. A record with a fault is left
    /// out; where a fault hides that a record began, one may stand for several.
    pub left_out: BTreeMap<Kind, u64>,
    /// The first thousand of them, where they are collected.
    pub faults: Vec<Fault>,
}

impl Report {
    /// How many faults were passed over.
    pub fn count(&self) -> u64 {
        self.left_out.values().sum()
    }

    pub(crate) fn add(&mut self, fault: Fault, on_error: OnError) {
        *self.left_out.entry(fault.kind).or_default() += 1;
        if on_error == OnError::Collect && self.faults.len() < MOST {
            self.faults.push(fault);
        }
    }
}
