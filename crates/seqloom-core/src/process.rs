//! The process that this is.

/// Returns the id of this process, by which a forked process detects that it is another; 0 in a
/// browser, which has no processes.
#[inline]
pub fn id() -> u32 {
    if cfg!(target_family = "wasm") {
        return 0;
    }
    std::process::id()
}
