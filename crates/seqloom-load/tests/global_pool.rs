//! Rayon's global pool has no owner and breaks in a forked child: nothing builds it.

use seqloom_load::gather::RaggedView;

#[test]
fn picking_rows_outside_a_pool_leaves_the_global_one_unbuilt() {
    let data = vec![b'A'; 4 << 20];
    let found = RaggedView::new(&data, &[0, 2 << 20, 4 << 20]).gather(&[1, 0]);
    assert_eq!(found.unwrap().data.len(), data.len());
    rayon::ThreadPoolBuilder::new().build_global().unwrap();
}
