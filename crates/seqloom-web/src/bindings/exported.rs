//! The functions that the module exports, for its only thread.

#![expect(
    unsafe_code,
    reason = "names that are exported and functions of the host are unsafe to declare; no pointer \
              is followed here"
)]

use std::cell::RefCell;
use std::ptr;

use super::Bindings;
use crate::host::Host;

thread_local! {
    static BINDINGS: RefCell<Bindings> = RefCell::default();
}

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    safe fn rewind();
    safe fn read(buffer: *mut u8, size: usize) -> usize;
    safe fn rows(table: *const u8, size: usize);
    safe fn progress(records: f64);
}

/// The page, as the host of the module.
#[derive(Clone, Copy)]
struct Page;

impl Host for Page {
    fn rewind(&self) {
        rewind();
    }

    fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        let count = read(buffer.as_mut_ptr(), buffer.len());
        (count <= buffer.len()).then_some(count)
    }

    fn rows(&self, table: &[u8]) {
        rows(table.as_ptr(), table.len());
    }

    #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 records")]
    fn progress(&self, records: u64) {
        progress(records as f64);
    }
}

/// Allocates memory for bytes that the page writes; null if there are too many bytes.
#[unsafe(no_mangle)]
extern "C" fn room(size: usize) -> *mut u8 {
    BINDINGS.with_borrow_mut(|bindings| {
        bindings
            .allocate(size)
            .map_or(ptr::null_mut(), <[u8]>::as_mut_ptr)
    })
}

/// Returns the address of the answer of the last call.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    BINDINGS.with_borrow(|bindings| bindings.answer().as_ptr())
}

/// Returns the size in bytes of the answer of the last call.
#[unsafe(no_mangle)]
extern "C" fn answer_size() -> usize {
    BINDINGS.with_borrow(|bindings| bindings.answer().len())
}

/// Opens the zip in the input buffer.
#[unsafe(no_mangle)]
extern "C" fn open() -> u32 {
    BINDINGS.with_borrow_mut(|bindings| bindings.open().into())
}

/// Scores the sequence file that the host reads; the name of this file is in the input
/// buffer.
#[unsafe(no_mangle)]
extern "C" fn predict() -> u32 {
    BINDINGS.with_borrow_mut(|bindings| bindings.predict(&Page).into())
}

/// Computes the importance of each position in a record of the host's file.
#[unsafe(no_mangle)]
extern "C" fn look(record: u32) -> u32 {
    BINDINGS.with_borrow_mut(|bindings| bindings.explain(&Page, record.into()).into())
}
