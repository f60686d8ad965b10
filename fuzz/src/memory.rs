//! Measures the largest memory allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator;

/// Size of the largest allocation since the last call of [`watch`].
static LARGEST_ALLOCATION: AtomicUsize = AtomicUsize::new(0);

/// Runs a function, and panics if it allocates more than `limit` bytes in one call.
pub fn watch(limit: usize, work: impl FnOnce()) {
    LARGEST_ALLOCATION.store(0, Relaxed);
    work();
    let largest = LARGEST_ALLOCATION.load(Relaxed);
    assert!(
        largest <= limit,
        "{largest} bytes were allocated in one call"
    );
}

/// The system allocator, which also records the size of each allocation.
struct WatchedAllocator;

// SAFETY: every call is passed unchanged to the system allocator.
unsafe impl GlobalAlloc for WatchedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST_ALLOCATION.fetch_max(size, Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
