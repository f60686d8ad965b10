//! The number of threads of the command.

use seqloom_run::{Error, Result};

use super::arguments::MAX_THREADS;

/// The environment variables that set the number of threads, in order: first that of
/// seqloom, then those of OpenMP and SLURM.
const THREAD_VARIABLES: [&str; 6] = [
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
];

/// Returns the requested number of threads. If none is requested, returns the number in
/// the environment or the number of available cores.
pub(super) fn thread_count(wanted: Option<usize>) -> Result<usize> {
    if let Some(count) = wanted {
        return Ok(count);
    }
    for name in THREAD_VARIABLES {
        let value = std::env::var(name).unwrap_or_default();
        if !value.is_empty() {
            return parse_thread_count(name, &value);
        }
    }
    Ok(available_cores())
}

fn parse_thread_count(name: &str, value: &str) -> Result<usize> {
    // OpenMP may specify a number of threads for each level of nesting. The first
    // number is for the outermost level.
    let first = value.split(',').next().unwrap_or_default();
    let count: Option<usize> = first.trim().parse().ok();
    let count = count.filter(|count| *count > 0);
    let bad = || Error::argument(format!("{name} must be an integer above 0, got {value:?}"));
    Ok(count.ok_or_else(bad)?.min(MAX_THREADS))
}

/// Returns the number of cores on which this process may run. The function
/// `available_parallelism` is not used, because it reads additional files.
#[cfg(target_os = "linux")]
fn available_cores() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.map_or(1, |set| usize::try_from(set.count()).unwrap_or(1).max(1))
}

/// Returns the number of cores. On systems other than Linux, `available_parallelism`
/// reads no additional files.
#[cfg(not(target_os = "linux"))]
fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
