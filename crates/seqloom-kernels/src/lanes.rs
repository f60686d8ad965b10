//! Vectors of floats with arithmetic operators.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

use pulp::Simd;
use seqloom_macros::vectorized;

use crate::Float;
use crate::machine::{dispatch, has_many_registers};

/// The vector registers of the instruction set that kernels use.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    /// The number of floats in a register.
    pub(crate) lanes: usize,
    /// True if there are 32 vector registers, false if there are 16.
    pub(crate) are_many: bool,
}

impl Registers {
    /// Returns the vector registers for this float type.
    pub(crate) fn for_type<T: Float>() -> Self {
        count_registers(PhantomData::<T>)
    }
}

#[vectorized]
fn count_registers<S: Simd, T: Float>(_: S, _: PhantomData<T>) -> Registers {
    Registers {
        lanes: Lanes::<S, T>::COUNT,
        are_many: has_many_registers::<S>(),
    }
}

/// The floats of one vector register, and a token that proves that the processor has
/// such registers.
#[must_use]
#[derive(Clone, Copy)]
pub struct Lanes<S: Simd, T: Float> {
    simd: S,
    /// The floats of the register.
    pub vector: T::Vector<S>,
}

impl<S: Simd, T: Float> Lanes<S, T> {
    /// The number of floats in a register.
    pub const COUNT: usize = size_of::<T::Vector<S>>() / size_of::<T>();

    /// Creates lanes from a vector.
    #[inline(always)]
    pub fn new(simd: S, vector: T::Vector<S>) -> Self {
        Self { simd, vector }
    }

    /// Returns lanes that all contain `value`, in the registers of `simd`.
    #[inline(always)]
    pub fn splat(simd: S, value: T) -> Self {
        Self::new(simd, T::splat(simd, value))
    }

    /// Loads the floats of a slice that is shorter than a register; the remaining lanes
    /// are 0.
    #[inline(always)]
    pub fn load_part(simd: S, slice: &[T]) -> Self {
        Self::new(simd, T::load_part(simd, slice))
    }

    /// Loads the floats of a slice; the remaining lanes are 0.
    #[inline(always)]
    pub fn load(self, slice: &[T]) -> Self {
        match T::split::<S>(slice) {
            ([vector], _) => self.with_vector(*vector),
            (_, rest) => Self::load_part(self.simd, rest),
        }
    }

    /// Stores the first lanes of a register in a shorter slice.
    #[inline(always)]
    pub fn store_part(self, slice: &mut [T]) {
        T::store_part(self.simd, slice, self.vector);
    }

    /// Stores the first lanes of a register, one for each element of `slice`.
    #[inline(always)]
    pub fn store(self, slice: &mut [T]) {
        match T::split_mut::<S>(slice) {
            ([vector], _) => *vector = self.vector,
            (_, rest) => T::store_part(self.simd, rest, self.vector),
        }
    }

    /// Returns lanes that all contain `value`.
    #[inline(always)]
    pub fn like(self, value: T) -> Self {
        Self::splat(self.simd, value)
    }

    /// Returns lanes that contain `vector`.
    #[inline(always)]
    pub fn with_vector(self, vector: T::Vector<S>) -> Self {
        Self::new(self.simd, vector)
    }

    /// Returns this vector times `factor` plus `term`, lane by lane.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, term: Self) -> Self {
        let vector = T::mul_add(self.simd, self.vector, factor.vector, term.vector);
        Self::new(self.simd, vector)
    }

    /// Returns the absolute value, lane by lane.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self::new(self.simd, T::abs(self.simd, self.vector))
    }

    /// Returns the square root, lane by lane.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Self::new(self.simd, T::sqrt(self.simd, self.vector))
    }

    /// Returns the maximum of two vectors, lane by lane.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        Self::new(self.simd, T::max(self.simd, self.vector, other.vector))
    }

    /// Returns `chosen` in the lanes where this vector is less than `bound`, and
    /// `other` elsewhere.
    #[inline(always)]
    pub fn if_less(self, bound: Self, chosen: Self, other: Self) -> Self {
        let mask = T::less_than(self.simd, self.vector, bound.vector);
        let vector = T::select(self.simd, mask, chosen.vector, other.vector);
        Self::new(self.simd, vector)
    }

    /// Returns true if any lane is less than the same lane of `bound`.
    #[inline(always)]
    pub fn is_any_less(self, bound: Self) -> bool {
        T::is_any_less(self.simd, self.vector, bound.vector)
    }

    /// Returns the sum of the lanes.
    #[inline(always)]
    pub fn sum(self) -> T {
        <T as Float>::sum(self.simd, self.vector)
    }

    /// Returns the largest lane.
    #[inline(always)]
    pub fn greatest(self) -> T {
        T::greatest(self.simd, self.vector)
    }

    /// Returns this vector times 2^n, where `rounded` is `n + ROUNDING_OFFSET`.
    #[inline(always)]
    pub fn scale(self, rounded: Self) -> Self {
        Self::new(self.simd, T::scale::<S>(self.vector, rounded.vector))
    }

    /// Returns the probability that a standard normal variable is at most x, where
    /// `bell` must be `exp(-x^2 / 2)`.
    #[inline(always)]
    pub fn normal_cdf(self, bell: Self) -> Self {
        Self::new(
            self.simd,
            T::normal_cdf(self.simd, self.vector, bell.vector),
        )
    }
}

macro_rules! impl_operator {
    ($trait:ident, $name:ident) => {
        impl<S: Simd, T: Float> $trait for Lanes<S, T> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self::new(
                    self.simd,
                    <T as Float>::$name(self.simd, self.vector, other.vector),
                )
            }
        }
    };
}

impl_operator!(Add, add);
impl_operator!(Sub, sub);
impl_operator!(Mul, mul);
impl_operator!(Div, div);
