//! Tests that running a program does not create rayon's global thread pool, because the
//! threads of a global pool do not survive a fork.

use seqloom_fuse::{
    Description, InputData, Numbers, NumbersMut, Op, Program, ProgramInput, ProgramOutput, Target,
    run,
};

#[test]
fn programs_outside_a_pool_do_not_build_the_global_pool() {
    let x = vec![1.0_f32; 1 << 20];
    let mut out = vec![0.0_f32; 1 << 20];
    let description = Description {
        inputs: 1,
        steps: vec![(Op::Relu, vec![0])],
        outputs: vec![ProgramOutput {
            value: 1,
            fold: None,
        }],
        ..Description::default()
    };
    let operand = ProgramInput {
        source: InputData::Numbers(Numbers::F32(&x)),
        strides: vec![1],
    };
    let target = Target {
        numbers: NumbersMut::F32(&mut out),
        strides: vec![1],
    };
    run::<f32>(
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
