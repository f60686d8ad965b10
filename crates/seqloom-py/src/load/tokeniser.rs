//! Tokenisation: by a kernel, or by a Python function.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use seqloom_core::{Error, Result};
use seqloom_encode::LetterTable;
use seqloom_load::gather::RaggedRows;
use seqloom_load::packed::{Tokenise, WindowTokens, tokenise_rows};

use crate::{encode::kernel::SequenceKernel, error};

/// A tokeniser of sequences.
pub(super) enum Tokeniser {
    Kernel {
        kernel: Py<SequenceKernel>,
        /// The kernel's table of residues, changed to keep stops at the end of sequences.
        letters: Box<LetterTable>,
        met: [i64; 7],
    },
    Function(Py<PyAny>),
}

impl Tokeniser {
    /// Creates a tokeniser from a function or, if there is none, from a kernel with
    /// 4-byte tokens.
    pub(super) fn new(
        py: Python<'_>,
        kernel: Option<Py<SequenceKernel>>,
        function: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let missing = || error::exception_for(py, &Error::argument("4-byte tokens are required"));
        if let Some(function) = function {
            return Ok(Self::Function(function));
        }
        let kernel = kernel.ok_or_else(missing)?;
        let (letters, _) = kernel.get().four_byte_kernel().ok_or_else(missing)?;
        Ok(Self::Kernel {
            letters: Box::new(letters.without_stop_removal()),
            kernel,
            met: [0; 7],
        })
    }

    /// Returns true if the tokeniser needs the GIL.
    pub(super) fn is_python(&self) -> bool {
        matches!(self, Self::Function(_))
    }
}

impl Tokenise for Tokeniser {
    fn strip_ignored<'a>(&self, sequence: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Kernel { kernel, .. } => match kernel.get().four_byte_kernel() {
                Some((letters, _)) => letters.strip_stop(sequence),
                None => sequence,
            },
            Self::Function(_) => sequence,
        }
    }

    fn size(&self, letters: usize) -> Option<usize> {
        match self {
            Self::Kernel { kernel, .. } => {
                let (_, kernel) = kernel.get().four_byte_kernel()?;
                Some(kernel.row_len(letters))
            }
            Self::Function(_) => None,
        }
    }

    fn tokenise(&mut self, windows: &RaggedRows, out: &mut WindowTokens) -> Result<()> {
        match self {
            Self::Kernel {
                kernel,
                letters,
                met,
            } => {
                let Some((_, kernel)) = kernel.get().four_byte_kernel() else {
                    return Err(Error::argument("4-byte tokens are required"));
                };
                let counts = tokenise_rows((letters, kernel), windows, out)?.to_array();
                for (sum, count) in met.iter_mut().zip(counts) {
                    *sum += count;
                }
                Ok(())
            }
            Self::Function(function) => call_function(function, windows, out),
        }
    }

    fn take_character_counts(&mut self) -> [i64; 7] {
        match self {
            Self::Kernel { met, .. } => std::mem::take(met),
            Self::Function(_) => [0; 7],
        }
    }
}

/// Calls a Python function. If that function raises an exception, stores the exception
/// and returns fewer tokens.
fn call_function(function: &Py<PyAny>, windows: &RaggedRows, out: &mut WindowTokens) -> Result<()> {
    out.offsets.clear();
    out.data.clear();
    let called = Python::try_attach(|py| call(function.bind(py), windows, out));
    let called = called.unwrap_or(Ok(()));
    match called {
        Ok(()) if out.len() == windows.offsets.len().saturating_sub(1) => Ok(()),
        Ok(()) => Err(Error::argument("the function rejected a sequence")),
        Err(error) => Err(Error::argument(format!("the function failed: {error}"))),
    }
}

fn call(function: &Bound<'_, PyAny>, windows: &RaggedRows, out: &mut WindowTokens) -> PyResult<()> {
    let py = function.py();
    let letters = PyArray1::from_slice(py, &windows.data);
    let offsets = PyArray1::from_slice(py, &windows.offsets);
    let (tokens, bounds): (PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, i64>) =
        function.call1((letters, offsets))?.extract()?;
    out.data.extend_from_slice(tokens.as_slice()?);
    out.offsets.extend_from_slice(bounds.as_slice()?);
    Ok(())
}
