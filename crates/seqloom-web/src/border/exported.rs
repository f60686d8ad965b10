//! The functions by the names that WebAssembly knows, over one border for the only thread.

#![expect(
    unsafe_code,
    reason = "names that are exported and functions of the host are unsafe to declare; no pointer \
              is followed here"
)]

use std::cell::RefCell;
use std::ptr;

use super::Border;
use crate::host::Host;

thread_local! {
    static BORDER: RefCell<Border> = RefCell::default();
}

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    safe fn rewind();
    safe fn read(room: *mut u8, size: usize) -> usize;
    safe fn rows(table: *const u8, size: usize);
    safe fn progress(records: f64);
}

/// The page.
#[derive(Clone, Copy)]
struct Page;

impl Host for Page {
    fn rewind(&self) {
        rewind();
    }

    fn read(&self, room: &mut [u8]) -> Option<usize> {
        let count = read(room.as_mut_ptr(), room.len());
        (count <= room.len()).then_some(count)
    }

    fn rows(&self, table: &[u8]) {
        rows(table.as_ptr(), table.len());
    }

    #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 records")]
    fn progress(&self, records: u64) {
        progress(records as f64);
    }
}

/// Makes room for bytes that the page gives; null where that is too much.
#[unsafe(no_mangle)]
extern "C" fn room(size: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border
            .room(size)
            .map_or(ptr::null_mut(), <[u8]>::as_mut_ptr)
    })
}

/// Where the answer of the last function begins.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    BORDER.with_borrow(|border| border.answer().as_ptr())
}

/// How many bytes the answer of the last function has.
#[unsafe(no_mangle)]
extern "C" fn answer_size() -> usize {
    BORDER.with_borrow(|border| border.answer().len())
}

/// Opens the zip that was given.
#[unsafe(no_mangle)]
extern "C" fn open() -> u32 {
    BORDER.with_borrow_mut(|border| border.open().into())
}

/// Scores the file, whose name was given.
#[unsafe(no_mangle)]
extern "C" fn predict() -> u32 {
    BORDER.with_borrow_mut(|border| border.predict(&Page).into())
}

/// Says where the model looked in a record of the file, whose name was given.
#[unsafe(no_mangle)]
extern "C" fn look(record: u32) -> u32 {
    BORDER.with_borrow_mut(|border| border.look(&Page, record.into()).into())
}
