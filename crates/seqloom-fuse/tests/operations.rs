//! Tests that compare each operation with the standard library, in single and double
//! precision.
#![expect(clippy::unwrap_used, reason = "a test")]

use seqloom_fuse::{
    Elements, ElementsMut, InputData, Number, Op, OutputTarget, Program, ProgramDescription,
    ProgramInput, ProgramOutput, run_program,
};

fn single_step_program(op: Op) -> Program {
    let args = (0..op.arity()).collect();
    Program::new(&ProgramDescription {
        inputs: op.arity(),
        steps: vec![(op, args)],
        outputs: vec![ProgramOutput {
            value: op.arity(),
            fold: None,
        }],
        ..ProgramDescription::default()
    })
    .unwrap()
}

fn run_operation<T: Number>(op: Op, args: &[&[f64]]) -> Vec<f64> {
    let operands: Vec<ProgramInput<'_>> = args
        .iter()
        .map(|numbers| ProgramInput {
            source: InputData::Numbers(Elements::F64(numbers)),
            strides: vec![1],
        })
        .collect();
    let mut out = vec![0.0; args[0].len()];
    let target = OutputTarget {
        numbers: ElementsMut::F64(&mut out),
        strides: vec![1],
    };
    run_program::<T>(
        &single_step_program(op),
        &[args[0].len()],
        &operands,
        vec![target],
        1,
    )
    .unwrap();
    out
}

/// Returns numbers that single precision represents exactly.
fn exact_grid(low: f32, high: f32) -> Vec<f64> {
    let step = (high - low) / 9_999.0;
    (0..10_000_u16)
        .map(|at| f64::from(low + step * f32::from(at)))
        .collect()
}

/// Returns the largest error, in units in the last place.
fn max_error<T: Number>(op: Op, (low, high): (f32, f32), reference: ReferenceFunction) -> f64 {
    let x = exact_grid(low, high);
    let unit = if size_of::<T>() == 4 {
        f64::from(f32::EPSILON)
    } else {
        f64::EPSILON
    };
    let error = |(found, x): (f64, &f64)| {
        let reference = reference(*x);
        ((found - reference) / reference.abs().max(1e-30)).abs() / unit
    };
    run_operation::<T>(op, &[&x])
        .into_iter()
        .zip(&x)
        .map(error)
        .fold(0.0, f64::max)
}

type ReferenceFunction = fn(f64) -> f64;

const SMOOTH_FUNCTIONS: [(Op, (f32, f32), ReferenceFunction); 17] = [
    (Op::Exp, (-80.0, 80.0), f64::exp),
    (Op::ExpM1, (-20.0, 60.0), f64::exp_m1),
    (Op::Log, (1e-6, 50.0), f64::ln),
    (Op::Log, (0.9, 1.1), f64::ln),
    (Op::Log1P, (-0.9, 50.0), f64::ln_1p),
    (Op::Log1P, (-1e-3, 1e-3), f64::ln_1p),
    (Op::Tanh, (-12.0, 12.0), f64::tanh),
    (Op::Tanh, (-1e-3, 1e-3), f64::tanh),
    (Op::Erf, (-5.0, 5.0), libm_erf),
    (Op::Erf, (-1e-3, 1e-3), libm_erf),
    (Op::Sigmoid, (-30.0, 30.0), |x| 1.0 / (1.0 + (-x).exp())),
    (Op::Softplus, (-30.0, 30.0), |x| {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    }),
    (Op::Silu, (-30.0, 30.0), |x| x / (1.0 + (-x).exp())),
    (Op::Sqrt, (0.0, 9.0), f64::sqrt),
    (Op::Rsqrt, (0.1, 9.0), |x| 1.0 / x.sqrt()),
    (Op::Sin, (-30.0, 30.0), f64::sin),
    (Op::Cos, (-30.0, 30.0), f64::cos),
];

fn libm_erf(x: f64) -> f64 {
    libm::erf(x)
}

#[test]
fn smooth_functions_are_accurate_to_a_few_units_in_the_last_place() {
    for (op, range, reference) in SMOOTH_FUNCTIONS {
        let (single, double) = (
            max_error::<f32>(op, range, reference),
            max_error::<f64>(op, range, reference),
        );
        assert!(single < 4.5, "{}: {single} in single precision", op.name());
        assert!(double < 4.5, "{}: {double} in double precision", op.name());
    }
}

#[test]
fn operations_accept_infinity_and_nan() {
    let x = [f64::NEG_INFINITY, -1.0, 0.0, f64::INFINITY, f64::NAN];
    let nan = f64::NAN;
    let infinity = f64::INFINITY;
    let cases = [
        (Op::Log, [nan, nan, -infinity, infinity, nan]),
        (Op::Log1P, [nan, -infinity, 0.0, infinity, nan]),
        (Op::ExpM1, [-1.0, (-1.0_f64).exp_m1(), 0.0, infinity, nan]),
        (Op::Tanh, [-1.0, (-1.0_f64).tanh(), 0.0, 1.0, nan]),
        (Op::Erf, [-1.0, libm::erf(-1.0), 0.0, 1.0, nan]),
        (Op::Relu, [0.0, 0.0, 0.0, infinity, nan]),
        (Op::IsNan, [0.0, 0.0, 0.0, 0.0, 1.0]),
        (Op::IsFinite, [0.0, 1.0, 1.0, 0.0, 0.0]),
    ];
    for (op, wanted) in cases {
        for found in [
            run_operation::<f32>(op, &[&x]),
            run_operation::<f64>(op, &[&x]),
        ] {
            assert!(
                found.iter().zip(&wanted).all(is_close_or_nan),
                "{}: {found:?}",
                op.name()
            );
        }
    }
}

fn is_close_or_nan((a, b): (&f64, &f64)) -> bool {
    a.total_cmp(b).is_eq() || (a - b).abs() < 1e-6 || a.is_nan() && b.is_nan()
}

#[test]
fn logarithms_of_subnormal_numbers_are_accurate() {
    let tiny = f64::from(f32::from_bits(3));
    let found = run_operation::<f32>(Op::Log, &[&[tiny]])[0];
    assert!((found / tiny.ln() - 1.0).abs() < 1e-6);
}

#[test]
fn max_and_min_are_nan_if_one_argument_is_nan() {
    let (x, y) = ([1.0, f64::NAN, 2.0], [f64::NAN, 1.0, 1.0]);
    for op in [Op::Maximum, Op::Minimum] {
        let found = run_operation::<f64>(op, &[&x, &y]);
        assert!(found[0].is_nan() && found[1].is_nan() && !found[2].is_nan());
    }
}

#[test]
fn every_operation_is_found_by_its_name() {
    for &op in Op::OPERATIONS {
        assert_eq!(Op::from_name(op.name()), Some(op));
    }
}
