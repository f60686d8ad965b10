//! Tests that no function creates rayon's global pool, which breaks in a forked child.

use seqloom_load::gather::RaggedView;

#[test]
fn gathering_rows_outside_a_pool_does_not_create_the_global_pool() {
    let data = vec![b'A'; 4 << 20];
    let rows = RaggedView::new(&data, &[0, 2 << 20, 4 << 20]).gather(&[1, 0]);
    assert_eq!(rows.unwrap().data.len(), data.len());
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
