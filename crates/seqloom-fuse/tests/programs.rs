//! Tests that a program gives the same results as its operations run one by one.
#![expect(clippy::unwrap_used, reason = "a test")]

use proptest::prelude::*;
use seqloom_fuse::{
    Elements, ElementsMut, Fold, InputData, Op, OutputTarget, Program, ProgramDescription,
    ProgramInput, ProgramOutput, run_program,
};

/// The memory layout of an input of a random program: broadcast along some axes, or
/// transposed.
#[derive(Clone, Copy, Debug)]
enum InputLayout {
    Whole,
    Scalar,
    Row,
    Column,
    Transposed,
}

const INPUT_LAYOUTS: [InputLayout; 5] = [
    InputLayout::Whole,
    InputLayout::Scalar,
    InputLayout::Row,
    InputLayout::Column,
    InputLayout::Transposed,
];

impl InputLayout {
    fn strides(self, [rows, columns]: [usize; 2]) -> Vec<usize> {
        match self {
            Self::Whole => vec![columns, 1],
            Self::Scalar => vec![0, 0],
            Self::Row => vec![0, 1],
            Self::Column => vec![1, 0],
            Self::Transposed => vec![1, rows],
        }
    }
}

/// Returns the elements of an array with these strides, broadcast to the shape.
fn broadcast_elements(numbers: &[f32], strides: &[usize], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let positions = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    positions
        .map(|(row, column)| numbers[row * strides[0] + column * strides[1]])
        .collect()
}

/// Returns a random program, in which each step uses earlier values.
fn random_descriptions() -> impl Strategy<Value = ProgramDescription> {
    let steps = prop::collection::vec(
        (prop::sample::select(Op::OPERATIONS), any::<[u16; 3]>()),
        2..20,
    );
    (1..4_usize, steps).prop_map(|(inputs, picked)| {
        let mut steps = Vec::new();
        for (op, picks) in picked {
            let known = inputs + 1 + steps.len();
            let args = picks[..op.arity()].iter();
            steps.push((op, args.map(|&pick| usize::from(pick) % known).collect()));
        }
        let value = inputs + steps.len();
        let folds = [None, Some(Fold::Sum), Some(Fold::Max), None];
        let outputs = folds
            .into_iter()
            .enumerate()
            .map(|(number, fold)| ProgramOutput {
                value: value - number % 2,
                fold,
            });
        let (constants, outputs) = (vec![0.5], outputs.collect());
        ProgramDescription {
            inputs,
            constants,
            steps,
            outputs,
        }
    })
}

/// Returns all values of a program, each computed by a separate program with a single step.
fn run_steps_one_by_one(
    description: &ProgramDescription,
    inputs: Vec<Vec<f32>>,
    count: usize,
) -> Vec<Vec<f32>> {
    let mut values = inputs;
    values.extend(description.constants.iter().map(|_| vec![0.5; count]));
    for (op, args) in &description.steps {
        let single = ProgramDescription {
            inputs: args.len(),
            steps: vec![(*op, (0..args.len()).collect())],
            outputs: vec![ProgramOutput {
                value: args.len(),
                fold: None,
            }],
            ..ProgramDescription::default()
        };
        let given: Vec<ProgramInput<'_>> = args
            .iter()
            .map(|&value| stored_input(&values[value]))
            .collect();
        let mut out = vec![0.0; count];
        let target = OutputTarget {
            numbers: ElementsMut::F32(&mut out),
            strides: vec![1],
        };
        run_program::<f32>(
            &Program::new(&single).unwrap(),
            &[count],
            &given,
            vec![target],
            1,
        )
        .unwrap();
        values.push(out);
    }
    values
}

fn stored_input(numbers: &[f32]) -> ProgramInput<'_> {
    ProgramInput {
        source: InputData::Numbers(Elements::F32(numbers)),
        strides: vec![1],
    }
}

fn are_equal_floats(found: &[f32], wanted: &[f32]) -> bool {
    let pairs = found.iter().zip(wanted);
    found.len() == wanted.len()
        && pairs
            .into_iter()
            .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

fn random_numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let [first, second, ..] = state.to_be_bytes();
        f32::from(i16::from_be_bytes([first, second])) / 9000.0
    };
    (0..count).map(|_| next()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_program_equals_its_steps_run_one_by_one(
        description in random_descriptions(),
        (rows, columns) in (1..40_usize, prop::sample::select(vec![1_usize, 3, 16, 70, 1024, 2500])),
        forms in prop::array::uniform4(prop::sample::select(&INPUT_LAYOUTS[..])),
        seed in any::<u64>(),
    ) {
        let shape = [rows, columns];
        let count = shape[0] * shape[1];
        let given: Vec<Vec<f32>> = (0..description.inputs as u64).map(|n| random_numbers(count, seed ^ n)).collect();
        let strides: Vec<Vec<usize>> = forms.iter().map(|form| form.strides(shape)).collect();
        let spread_out = given.iter().zip(&strides).map(|(x, strides)| broadcast_elements(x, strides, shape)).collect();
        let values = run_steps_one_by_one(&description, spread_out, count);

        let operands: Vec<ProgramInput<'_>> = given.iter().zip(&strides).map(|(x, strides)| {
            ProgramInput { source: InputData::Numbers(Elements::F32(x)), strides: strides.clone() }
        }).collect();
        let (mut last, mut before) = (vec![0.0_f32; count], vec![0.0_f32; count]);
        let (mut sums, mut greatest) = (vec![0.0_f64; shape[1]], vec![0.0_f32; shape[0]]);
        let targets = vec![
            OutputTarget { numbers: ElementsMut::F32(&mut last), strides: vec![shape[1], 1] },
            OutputTarget { numbers: ElementsMut::F64(&mut sums), strides: vec![0, 1] },
            OutputTarget { numbers: ElementsMut::F32(&mut greatest), strides: vec![1, 0] },
            OutputTarget { numbers: ElementsMut::F32(&mut before), strides: vec![shape[1], 1] },
        ];
        run_program::<f32>(&Program::new(&description).unwrap(), &shape, &operands, targets, 1).unwrap();

        let [one, two] = [0, 1].map(|back| &values[values.len() - 1 - back]);
        prop_assert!(are_equal_floats(&last, one));
        prop_assert!(are_equal_floats(&before, two));
        for (column, &sum) in sums.iter().enumerate() {
            let terms = (0..shape[0]).map(|row| f64::from(two[row * shape[1] + column]));
            let (reference, size): (f64, f64) = (terms.clone().sum(), terms.map(f64::abs).sum());
            prop_assert!(!reference.is_finite() || (sum - reference).abs() <= 4e-6 * size);
        }
        for (row, &found) in greatest.iter().enumerate() {
            let numbers = &one[row * shape[1]..][..shape[1]];
            let expected = numbers.iter().copied().reduce(|a, b| if a.is_nan() || a > b { a } else { b });
            // The maximum of 0 and -0 may have either sign; adding 0 turns -0 into 0.
            prop_assert!(are_equal_floats(&[found + 0.0], &[expected.unwrap() + 0.0]));
        }
    }
}

/// Returns a program that computes tanh of exponentials, their sums, and the mean of
/// the exponentials.
fn reduction_program() -> Program {
    let output = |value, fold| ProgramOutput { value, fold };
    let outputs = vec![
        output(2, None),
        output(2, Some(Fold::Sum)),
        output(1, Some(Fold::Mean)),
    ];
    let description = ProgramDescription {
        inputs: 1,
        steps: vec![(Op::Exp, vec![0]), (Op::Tanh, vec![1])],
        outputs,
        ..ProgramDescription::default()
    };
    Program::new(&description).unwrap()
}

/// Returns the results of `reduction_program` for numbers in rows of 37.
fn run_reduction_program(threads: usize, x: &[f32]) -> (Vec<f32>, Vec<f32>, Vec<f64>) {
    let operand = ProgramInput {
        strides: vec![37, 1],
        ..stored_input(x)
    };
    let (mut out, mut sums, mut mean) = (vec![0.0; x.len()], vec![0.0; 37], vec![0.0]);
    let numbers = [
        ElementsMut::F32(&mut out),
        ElementsMut::F32(&mut sums),
        ElementsMut::F64(&mut mean),
    ];
    let strides = [vec![37, 1], vec![0, 1], vec![0, 0]];
    let targets = numbers.into_iter().zip(strides);
    let targets = targets
        .map(|(numbers, strides)| OutputTarget { numbers, strides })
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let shape = [x.len() / 37, 37];
    let run = || run_program::<f32>(&reduction_program(), &shape, &[operand], targets, threads);
    pool.unwrap().install(run).unwrap();
    (out, sums, mean)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = random_numbers(3000 * 37, 3);
    let alone = run_reduction_program(1, &x);
    for threads in [2, 4] {
        assert_eq!(run_reduction_program(threads, &x), alone);
    }
}

#[test]
fn a_program_may_overwrite_its_input() {
    let mut x = random_numbers(5000, 1);
    let wanted: Vec<f32> = x.iter().map(|x| x + x * 0.5).collect();
    let description = ProgramDescription {
        inputs: 1,
        constants: vec![0.5],
        steps: vec![(Op::Multiply, vec![0, 1]), (Op::Add, vec![0, 2])],
        outputs: vec![ProgramOutput {
            value: 3,
            fold: None,
        }],
    };
    let operand = ProgramInput {
        source: InputData::Output(0),
        strides: vec![1],
    };
    let target = OutputTarget {
        numbers: ElementsMut::F32(&mut x),
        strides: vec![1],
    };
    run_program::<f32>(
        &Program::new(&description).unwrap(),
        &[5000],
        &[operand],
        vec![target],
        1,
    )
    .unwrap();
    assert_eq!(x, wanted);
}

#[test]
fn a_reduction_of_no_values_is_the_neutral_element() {
    let description = ProgramDescription {
        inputs: 1,
        outputs: vec![ProgramOutput {
            value: 0,
            fold: Some(Fold::Prod),
        }],
        ..ProgramDescription::default()
    };
    let mut out = vec![7.0_f32; 3];
    let target = OutputTarget {
        numbers: ElementsMut::F32(&mut out),
        strides: vec![1, 0],
    };
    let operand = ProgramInput {
        source: InputData::Numbers(Elements::F32(&[])),
        strides: vec![0, 1],
    };
    let program = Program::new(&description).unwrap();
    run_program::<f32>(&program, &[3, 0], &[operand], vec![target], 1).unwrap();
    assert_eq!(out, [1.0; 3]);
}

#[test]
fn invalid_values_and_arrays_are_an_error() {
    let unknown = ProgramDescription {
        inputs: 1,
        steps: vec![(Op::Add, vec![0, 2])],
        ..ProgramDescription::default()
    };
    assert!(Program::new(&unknown).is_err());
    let few = ProgramDescription {
        inputs: 1,
        steps: vec![(Op::Add, vec![0])],
        ..ProgramDescription::default()
    };
    assert!(Program::new(&few).is_err());
    let copy = ProgramDescription {
        inputs: 1,
        outputs: vec![ProgramOutput {
            value: 0,
            fold: None,
        }],
        ..ProgramDescription::default()
    };
    let program = Program::new(&copy).unwrap();
    let (short, mut out) = (random_numbers(9, 0), vec![0.0_f32; 10]);
    let target = OutputTarget {
        numbers: ElementsMut::F32(&mut out),
        strides: vec![1],
    };
    assert!(run_program::<f32>(&program, &[10], &[stored_input(&short)], vec![target], 1).is_err());
}
