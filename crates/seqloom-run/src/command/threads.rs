//! How many threads to use.

use seqloom_run::{Error, Result};

use super::arguments::MOST_THREADS;

/// Ours first, then those of OpenMP and of SLURM, which a job on a shared machine has set.
const VARIABLES: [&str; 6] = [
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
];

/// As many as were asked for, else as the environment says, else the cores of this process.
pub(super) fn count(wanted: Option<usize>) -> Result<usize> {
    if let Some(count) = wanted {
        return Ok(count);
    }
    for name in VARIABLES {
        let value = std::env::var(name).unwrap_or_default();
        if !value.is_empty() {
            return read(name, &value);
        }
    }
    Ok(cores())
}

fn read(name: &str, value: &str) -> Result<usize> {
    // OpenMP's may hold a number for each level of nesting; the outermost comes first.
    let first = value.split(',').next().unwrap_or_default();
    let count: Option<usize> = first.trim().parse().ok();
    let count = count.filter(|count| *count > 0);
    let bad = || Error::argument(format!("{name} must be an integer above 0, got {value:?}"));
    Ok(count.ok_or_else(bad)?.min(MOST_THREADS))
}

/// The cores that this process may be scheduled on. The standard library would read files that
/// the command does not name.
#[cfg(target_os = "linux")]
fn cores() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.map_or(1, |set| usize::try_from(set.count()).unwrap_or(1).max(1))
}

/// Elsewhere the standard library asks the system, and reads no file.
#[cfg(not(target_os = "linux"))]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
