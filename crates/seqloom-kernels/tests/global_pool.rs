//! Rayon's global pool has no owner and breaks in a forked child: nothing builds it.

#[test]
fn kernels_outside_a_pool_leave_the_global_one_unbuilt() {
    let x = vec![1.0_f32; 1 << 20];
    let mut out = vec![0.0; 1 << 20];
    seqloom_kernels::activation::relu(&x, &mut out, 4);
    assert_eq!(out, x);
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
