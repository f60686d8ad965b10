//! A vector of floats that is written like a number.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

use pulp::Simd;
use seqloom_macros::vectorized;

use crate::Float;
use crate::machine::{dispatch, has_many_registers};

/// The registers of the instruction set that kernels run on.
#[derive(Clone, Copy)]
pub(crate) struct Registers {
    /// How many floats one holds.
    pub(crate) lanes: usize,
    /// Whether there are thirty-two, not only sixteen.
    pub(crate) are_many: bool,
}

impl Registers {
    /// Those that hold numbers of this type.
    pub(crate) fn of<T: Float>() -> Self {
        registers(PhantomData::<T>)
    }
}

#[vectorized]
fn registers<S: Simd, T: Float>(_: S, _: PhantomData<T>) -> Registers {
    Registers {
        lanes: Lanes::<S, T>::COUNT,
        are_many: has_many_registers::<S>(),
    }
}

/// The floats of one register, with the proof that the machine has such registers.
#[must_use]
#[derive(Clone, Copy)]
pub struct Lanes<S: Simd, T: Float> {
    simd: S,
    /// The floats.
    pub vector: T::Vector<S>,
}

impl<S: Simd, T: Float> Lanes<S, T> {
    /// How many floats a register holds.
    pub const COUNT: usize = size_of::<T::Vector<S>>() / size_of::<T>();

    /// A register's floats.
    #[inline(always)]
    pub fn new(simd: S, vector: T::Vector<S>) -> Self {
        Self { simd, vector }
    }

    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(simd: S, value: T) -> Self {
        Self::new(simd, T::splat(simd, value))
    }

    /// Fewer floats than a register holds; the other lanes are zero.
    #[inline(always)]
    pub fn load_part(simd: S, slice: &[T]) -> Self {
        Self::new(simd, T::load_part(simd, slice))
    }

    /// Loads as many lanes as the slice is long, for the same machine; others are zero.
    #[inline(always)]
    pub fn load(self, slice: &[T]) -> Self {
        match T::split::<S>(slice) {
            ([vector], _) => self.with(*vector),
            (_, rest) => Self::load_part(self.simd, rest),
        }
    }

    /// Stores fewer lanes than there are.
    #[inline(always)]
    pub fn store_part(self, slice: &mut [T]) {
        T::store_part(self.simd, slice, self.vector);
    }

    /// Stores the first lanes, as many as the slice is long.
    #[inline(always)]
    pub fn store(self, slice: &mut [T]) {
        match T::split_mut::<S>(slice) {
            ([vector], _) => *vector = self.vector,
            (_, rest) => T::store_part(self.simd, rest, self.vector),
        }
    }

    /// The same number in every lane of a vector for the same machine.
    #[inline(always)]
    pub fn like(self, value: T) -> Self {
        Self::splat(self.simd, value)
    }

    /// Another register's floats.
    #[inline(always)]
    pub fn with(self, vector: T::Vector<S>) -> Self {
        Self::new(self.simd, vector)
    }

    /// Lane by lane, this times `factor` plus `term`.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, term: Self) -> Self {
        let vector = T::mul_add(self.simd, self.vector, factor.vector, term.vector);
        Self::new(self.simd, vector)
    }

    /// Lane by lane, the absolute value.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self::new(self.simd, T::abs(self.simd, self.vector))
    }

    /// Lane by lane, the square root.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Self::new(self.simd, T::sqrt(self.simd, self.vector))
    }

    /// Lane by lane, the greater of two.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        Self::new(self.simd, T::max(self.simd, self.vector, other.vector))
    }

    /// `chosen` in the lanes where this vector is less than `bound`, else `other`.
    #[inline(always)]
    pub fn if_less(self, bound: Self, chosen: Self, other: Self) -> Self {
        let mask = T::less(self.simd, self.vector, bound.vector);
        let vector = T::select(self.simd, mask, chosen.vector, other.vector);
        Self::new(self.simd, vector)
    }

    /// Whether a lane is less than that of `bound`.
    #[inline(always)]
    pub fn is_any_less(self, bound: Self) -> bool {
        T::is_any_less(self.simd, self.vector, bound.vector)
    }

    /// The sum of the lanes.
    #[inline(always)]
    pub fn sum(self) -> T {
        <T as Float>::sum(self.simd, self.vector)
    }

    /// The greatest lane.
    #[inline(always)]
    pub fn greatest(self) -> T {
        T::greatest(self.simd, self.vector)
    }

    /// This vector times two to the integer that `rounded` holds in addition to its rounder.
    #[inline(always)]
    pub fn scale(self, rounded: Self) -> Self {
        Self::new(self.simd, T::scale::<S>(self.vector, rounded.vector))
    }

    /// The distribution function of the standard normal variable, where `bell` is its
    /// density but for a factor.
    #[inline(always)]
    pub fn normal(self, bell: Self) -> Self {
        Self::new(self.simd, T::normal(self.simd, self.vector, bell.vector))
    }
}

macro_rules! operator {
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

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);
