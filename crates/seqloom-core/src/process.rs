//! The process that this is.

/// The number of this process, by which a forked one tells that it is another; 0 where there
/// are no processes, as in a browser.
#[inline]
pub fn id() -> u32 {
    if cfg!(target_family = "wasm") {
        return 0;
    }
    std::process::id()
}
