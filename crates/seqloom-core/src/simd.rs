//! Chooses the SIMD instruction set of all kernels. The environment variable
//! `SEQLOOM_SIMD` may name the instruction set; by default, kernels use the widest
//! instruction set that this processor supports.

use std::sync::LazyLock;

#[cfg(target_family = "wasm")]
use pulp::Simd;
use pulp::{Arch, WithSimd};

use crate::{Error, Result};

/// The environment variable that names the instruction set.
const SIMD_VARIABLE: &str = "SEQLOOM_SIMD";

/// The instruction set of this process. The instruction set is chosen once, at its
/// first use.
static ARCH: LazyLock<Arch> = LazyLock::new(|| choose_arch().unwrap_or_default());

/// Runs a kernel on the chosen instruction set. A function that the kernel calls must
/// be inlined into the kernel. A function that is not inlined is compiled for the
/// baseline instruction set, without wide vectors.
///
/// In WebAssembly the instruction set cannot be chosen at run time. A module is
/// compiled for one instruction set, and an engine without that instruction set rejects
/// the module.
#[inline]
pub fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(target_family = "wasm")]
    return dispatch_as_compiled(kernel);
    #[cfg(not(target_family = "wasm"))]
    ARCH.dispatch(kernel)
}

/// Runs a kernel on the instruction set that the module was compiled for. The module
/// has no code for other instruction sets, because a WebAssembly engine rejects a
/// module with an unsupported instruction.
#[cfg(target_family = "wasm")]
#[inline]
fn dispatch_as_compiled<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(target_feature = "relaxed-simd")]
    if let Some(simd) = pulp::wasm::RelaxedSimd::try_new() {
        return Simd::vectorize(simd, kernel);
    }
    #[cfg(all(target_feature = "simd128", not(target_feature = "relaxed-simd")))]
    if let Some(simd) = pulp::wasm::Simd128::try_new() {
        return Simd::vectorize(simd, kernel);
    }
    Simd::vectorize(pulp::Scalar, kernel)
}

/// Returns the name of the chosen instruction set: `"avx512"`, `"avx2"`, `"neon"`, `"simd128"`,
/// `"relaxed-simd"` or `"portable"`.
pub fn instruction_set() -> &'static str {
    arch_name(*ARCH)
}

/// Returns the token that allows AVX2, FMA and BMI2 instructions. The result is `None`
/// if this processor lacks these instruction sets or `SEQLOOM_SIMD` names a narrower
/// instruction set.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn avx2() -> Option<pulp::x86::V3> {
    match *ARCH {
        Arch::V3(simd) => Some(simd),
        // Every processor with AVX-512 also supports AVX2.
        Arch::V4(_) => pulp::x86::V3::try_new(),
        _ => None,
    }
}

/// Chooses the instruction set.
///
/// # Errors
///
/// Returns [`Error::Argument`] if `SEQLOOM_SIMD` is not the name of an instruction set,
/// or names an instruction set that this processor lacks.
pub fn choose_arch() -> Result<Arch> {
    match std::env::var_os(SIMD_VARIABLE) {
        Some(cap) if !cap.is_empty() => find_arch(&cap.to_string_lossy()),
        _ => Ok(Arch::new()),
    }
}

fn find_arch(cap: &str) -> Result<Arch> {
    let offered = supported_archs();
    let chosen = offered.iter().find(|arch| arch_name(**arch) == cap);
    chosen.copied().ok_or_else(|| {
        let names: Vec<_> = offered.iter().copied().map(arch_name).collect();
        let names = names.join(", ");
        Error::argument(format!(
            "{SIMD_VARIABLE} is {cap:?}, and this processor offers {names}: set it to one of these, \
             or unset it to use {}",
            arch_name(Arch::new())
        ))
    })
}

/// Lists the instruction sets that this processor supports, widest first.
fn supported_archs() -> Vec<Arch> {
    let mut offered = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        offered.extend(pulp::x86::V4::try_new().map(Arch::V4));
        offered.extend(pulp::x86::V3::try_new().map(Arch::V3));
    }
    #[cfg(target_arch = "aarch64")]
    offered.extend(pulp::aarch64::Neon::try_new().map(Arch::Neon));
    #[cfg(target_family = "wasm")]
    offered.extend(pulp::wasm::Simd128::try_new().map(Arch::Simd128));
    offered.push(Arch::Scalar);
    offered
}

fn arch_name(arch: Arch) -> &'static str {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => "avx512",
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "avx2",
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => "neon",
        #[cfg(target_family = "wasm")]
        Arch::Simd128(_) => "simd128",
        #[cfg(target_family = "wasm")]
        Arch::RelaxedSimd(_) => "relaxed-simd",
        _ => "portable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_instruction_set_is_chosen_by_its_name() {
        for arch in supported_archs() {
            let chosen = find_arch(arch_name(arch)).map(arch_name);
            assert_eq!(chosen, Ok(arch_name(arch)));
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_instruction_sets() {
        let message = find_arch("sse")
            .map(arch_name)
            .map_err(|error| error.to_string());
        let message = message.err().unwrap_or_default();
        assert!(message.contains("\"sse\""), "{message}");
        assert!(message.contains("portable"), "{message}");
    }
}
