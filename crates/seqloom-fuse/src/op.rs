//! A table of the operations of a program: names, costs and functions.

use pulp::Simd;
use seqloom_kernels::{lanes::Lanes, special};

use crate::fill::{self, LanesFunction};
use crate::{Number, math};

/// Defines operations. Each operation has a name, a running time for 16 elements in
/// tenths of a nanosecond, and a function of numbers or of SIMD vectors.
macro_rules! define_operations {
    ($($op:ident $name:literal $cost:literal $way:ident |$($arg:ident),+| $body:expr;)*) => {
        /// An operation on numbers, named as in the Array API standard if the standard
        /// contains it. Boolean results are numbers: 1 is true and 0 is false.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is named after its operation")]
        pub enum Op { $($op),* }

        impl Op {
            /// All operations.
            pub const OPERATIONS: &'static [Self] = &[$(Self::$op),*];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$op => $name),* }
            }

            /// Returns the number of arguments.
            pub fn arity(self) -> usize {
                match self { $(Self::$op => [$(stringify!($arg)),+].len()),* }
            }

            /// Returns the time for 16 elements in tenths of a nanosecond.
            pub fn cost(self) -> usize {
                match self { $(Self::$op => $cost),* }
            }

            /// Fills `out` with the results for arguments of the same length.
            pub(crate) fn fill_results<T: Number>(self, args: [&[T]; 3], out: &mut [T]) {
                match self { $(Self::$op => define_operations!(@$way args out |$($arg),+| $body)),* }
            }
        }
    };
    (@numbers $args:ident $out:ident |$x:ident| $body:expr) => {
        fill::fill_scalar(|[$x]: [T; 1]| $body, [$args[0]], $out)
    };
    (@numbers $args:ident $out:ident |$x:ident, $y:ident| $body:expr) => {
        fill::fill_scalar(|[$x, $y]: [T; 2]| $body, [$args[0], $args[1]], $out)
    };
    (@numbers $args:ident $out:ident |$x:ident, $y:ident, $z:ident| $body:expr) => {
        fill::fill_scalar(|[$x, $y, $z]: [T; 3]| $body, $args, $out)
    };
    (@vectors $args:ident $out:ident |$x:ident| $body:expr) => {
        { define_operations!(@function 1 [$x] $body); fill::fill_vectorized(OpFunction, [$args[0]], $out) }
    };
    (@vectors $args:ident $out:ident |$x:ident, $y:ident| $body:expr) => {
        { define_operations!(@function 2 [$x, $y] $body); fill::fill_vectorized(OpFunction, [$args[0], $args[1]], $out) }
    };
    (@vectors $args:ident $out:ident |$x:ident, $y:ident, $z:ident| $body:expr) => {
        { define_operations!(@function 3 [$x, $y, $z] $body); fill::fill_vectorized(OpFunction, $args, $out) }
    };
    (@function $count:literal [$($arg:ident),+] $body:expr) => {
        #[derive(Clone, Copy)]
        struct OpFunction;

        impl<T: Number> LanesFunction<T, $count> for OpFunction {
            #[inline(always)]
            fn apply<S: Simd>(self, [$($arg),+]: [Lanes<S, T>; $count]) -> Lanes<S, T> {
                $body
            }
        }
    };
}

define_operations! {
    Negative "negative" 10 numbers |x| -x;
    Abs "abs" 10 numbers |x| x.magnitude();
    Sign "sign" 10 numbers |x| if x > T::ZERO { T::ONE } else if x < T::ZERO { -T::ONE } else { x };
    Square "square" 10 numbers |x| x * x;
    Sqrt "sqrt" 60 numbers |x| x.root();
    Rsqrt "rsqrt" 90 numbers |x| T::ONE / x.root();
    Reciprocal "reciprocal" 40 numbers |x| T::ONE / x;
    Floor "floor" 10 numbers |x| x.floored();
    Ceil "ceil" 10 numbers |x| x.ceiled();
    Round "round" 10 numbers |x| x.rounded();
    Exp "exp" 60 vectors |x| special::exp(x);
    ExpM1 "expm1" 80 vectors |x| math::exp_m1(x);
    Log "log" 100 vectors |x| math::ln(x);
    Log1P "log1p" 160 vectors |x| math::ln_1p(x);
    Sin "sin" 1600 numbers |x| x.sine();
    Cos "cos" 1600 numbers |x| x.cosine();
    Tanh "tanh" 110 vectors |x| math::tanh(x);
    Erf "erf" 150 vectors |x| T::erf(x);
    Sigmoid "sigmoid" 90 vectors |x| special::sigmoid(x);
    Relu "relu" 10 numbers |x| if x < T::ZERO { T::ZERO } else { x };
    Gelu "gelu" 120 vectors |x| math::gelu(x);
    Silu "silu" 100 vectors |x| math::silu(x);
    Softplus "softplus" 250 vectors |x| math::softplus(x);
    IsFinite "isfinite" 10 numbers |x| from_bool(x * T::ZERO == T::ZERO);
    IsNan "isnan" 10 numbers |x| from_bool(x.is_nan());
    Not "logical_not" 10 numbers |x| from_bool(x == T::ZERO);
    Add "add" 10 numbers |x, y| x + y;
    Subtract "subtract" 10 numbers |x, y| x - y;
    Multiply "multiply" 10 numbers |x, y| x * y;
    Divide "divide" 40 numbers |x, y| x / y;
    Power "pow" 3000 numbers |x, y| x.to_power(y);
    Remainder "remainder" 1000 numbers |x, y| x.modulo(y);
    Atan2 "atan2" 3000 numbers |y, x| y.angle(x);
    Maximum "maximum" 15 numbers |x, y| if x > y || x.is_nan() { x } else { y };
    Minimum "minimum" 15 numbers |x, y| if x < y || x.is_nan() { x } else { y };
    Equal "equal" 10 numbers |x, y| from_bool(x == y);
    NotEqual "not_equal" 10 numbers |x, y| from_bool(x != y);
    Less "less" 10 numbers |x, y| from_bool(x < y);
    LessEqual "less_equal" 10 numbers |x, y| from_bool(x <= y);
    Greater "greater" 10 numbers |x, y| from_bool(x > y);
    GreaterEqual "greater_equal" 10 numbers |x, y| from_bool(x >= y);
    And "logical_and" 10 numbers |x, y| from_bool(x != T::ZERO && y != T::ZERO);
    Or "logical_or" 10 numbers |x, y| from_bool(x != T::ZERO || y != T::ZERO);
    ReluGrad "relu_grad" 10 numbers |grad, out| if out <= T::ZERO { T::ZERO } else { grad };
    SigmoidGrad "sigmoid_grad" 15 numbers |grad, out| grad * out * (T::ONE - out);
    GeluGrad "gelu_grad" 130 vectors |grad, x| math::gelu_grad(grad, x);
    Fma "fma" 15 vectors |x, factor, term| x.mul_add(factor, term);
    Where "where" 15 numbers |chosen, x, y| if chosen == T::ZERO { y } else { x };
    Clip "clip" 20 numbers |x, low, high| {
        let x = if x < low || low.is_nan() { low } else { x };
        if x > high || high.is_nan() { high } else { x }
    };
}

impl Op {
    /// Returns the operation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::OPERATIONS
            .iter()
            .copied()
            .find(|op| op.name() == name)
    }
}

#[inline(always)]
fn from_bool<T: Number>(holds: bool) -> T {
    if holds { T::ONE } else { T::ZERO }
}
