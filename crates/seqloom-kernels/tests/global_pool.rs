//! Tests that kernels do not start rayon's global thread pool, which is never shut down
//! and does not survive a fork.

#[test]
fn kernels_outside_a_pool_do_not_build_the_global_pool() {
    let x = vec![1.0_f32; 1 << 20];
    let mut out = vec![0.0; 1 << 20];
    seqloom_kernels::activation::relu(&x, &mut out, 4);
    assert_eq!(out, x);
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
