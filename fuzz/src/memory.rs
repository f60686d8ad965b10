//! How much memory is asked for at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static MEMORY: Watched = Watched;

/// The most bytes that were asked for at once since [`watch`] was called.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// Does some work; it must not ask for more than so many bytes at once.
pub fn watch(most: usize, work: impl FnOnce()) {
    LARGEST.store(0, Relaxed);
    work();
    let largest = LARGEST.load(Relaxed);
    assert!(largest <= most, "{largest} bytes were asked for at once");
}

/// The system's memory, and a look at each size that is asked for.
struct Watched;

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
