//! Tests that running a program does not create rayon's global thread pool, because the
//! threads of a global pool do not survive a fork.

use seqloom_fuse::{
    Elements, ElementsMut, InputData, Op, OutputTarget, Program, ProgramDescription, ProgramInput,
    ProgramOutput, run_program,
};

#[test]
fn programs_outside_a_pool_do_not_build_the_global_pool() {
    let x = vec![1.0_f32; 1 << 20];
    let mut out = vec![0.0_f32; 1 << 20];
    let description = ProgramDescription {
        inputs: 1,
        steps: vec![(Op::Relu, vec![0])],
        outputs: vec![ProgramOutput {
            value: 1,
            fold: None,
        }],
        ..ProgramDescription::default()
    };
    let operand = ProgramInput {
        source: InputData::Numbers(Elements::F32(&x)),
        strides: vec![1],
    };
    let target = OutputTarget {
        numbers: ElementsMut::F32(&mut out),
        strides: vec![1],
    };
    run_program::<f32>(
        &Program::new(&description).unwrap(),
        &[1 << 20],
        &[operand],
        vec![target],
        4,
    )
    .unwrap();
    assert_eq!(out, x);
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
