//! Reads arbitrary bytes as the tables of a `.bed`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use seqloom_plink::table::{COLUMN_COUNT, TableKind, TextTable, lines};

fuzz_target!(|text: &[u8]| {
    for sheet in [TableKind::Fam, TableKind::Bim] {
        let names = sheet.names().map(String::from);
        if let Ok(table) = TextTable::parse(Path::new("fuzz"), sheet, &names, text) {
            assert_eq!(table.row_count(), lines::count_lines(text));
            read_all(&table, &names);
        }
    }
});

/// Reads every column as every type, and checks that there is one value for each line.
fn read_all(table: &TextTable<&[u8]>, names: &[String; COLUMN_COUNT]) {
    let (mut integers, mut floats) = (vec![0; table.row_count()], vec![0.0; table.row_count()]);
    for name in names {
        let _ = table.write_integers(name, &mut integers);
        let _ = table.write_floats(name, &mut floats);
        let width = table.column_size(name).unwrap().longest.max(1);
        let count = table.fields(name, 0..table.row_count()).unwrap().count();
        let mut points = vec![0; count * width];
        table
            .write_code_points(name, 0, width, &mut points)
            .unwrap();
        assert!(count == table.row_count() || name == "cm_position");
    }
}
