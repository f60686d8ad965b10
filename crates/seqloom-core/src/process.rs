//! The id of the running process.

/// Returns the id of this process, or 0 in a browser. A forked process has a different
/// id.
#[inline]
pub fn process_id() -> u32 {
    if cfg!(target_family = "wasm") {
        return 0;
    }
    std::process::id()
}
