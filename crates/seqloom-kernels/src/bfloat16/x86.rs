//! The instructions of AVX512-BF16.

mod attend;
mod functions;
mod normalise;
mod numbers;
mod product;
mod rotate;

pub(super) use attend::{Group, attend};
pub(super) use normalise::normalise;
pub(super) use numbers::narrow;
pub(super) use product::{Finish, multiply};
pub(super) use rotate::rotate;

/// Whether this machine has the instructions.
pub(super) fn are_offered() -> bool {
    is_x86_feature_detected!("avx512bf16")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

/// Numbers of a register.
pub(super) const LANES: usize = 16;

/// Outputs of a panel: three registers.
pub(super) const WIDE: usize = 3 * LANES;
