use proptest::prelude::*;

use super::*;

/// Packs one value after the other, as the `.bed` format specifies.
fn pack_naively(matrix: &GenotypeMatrix<'_, f64>, count_a1: bool) -> Vec<u8> {
    let stride = matrix.position_count().div_ceil(4);
    let mut out = vec![0; matrix.line_count() * stride];
    for line in 0..matrix.line_count() {
        for position in 0..matrix.position_count() {
            let value = matrix.values[matrix.value_offset(line, position)];
            let copies = if count_a1 { 2.0 - value } else { value };
            let code = match copies {
                0.0 => 0,
                1.0 => 2,
                2.0 => 3,
                _ => 1,
            };
            out[line * stride + position / 4] |= code << (position % 4 * 2);
        }
    }
    out
}

fn pack_to_vec<T: Genotype + Display>(
    matrix: GenotypeMatrix<'_, T>,
    count_a1: bool,
) -> Result<Vec<u8>> {
    let mut out = vec![0xff; matrix.line_count() * matrix.position_count().div_ceil(4)];
    pack_genotypes(matrix, count_a1, &mut out)?;
    Ok(out)
}

fn new_matrix<T>(
    values: &[T],
    shape: (usize, usize),
    orders: (bool, bool),
) -> GenotypeMatrix<'_, T> {
    GenotypeMatrix {
        values,
        shape,
        is_fortran: orders.0,
        lines_are_columns: orders.1,
    }
}

proptest! {
    #[test]
    fn every_type_and_memory_order_is_packed_as_the_format_specifies(
        rows in 0_usize..600, columns in 0_usize..12, transposed: bool,
        orders: (bool, bool), count_a1: bool, seed in 0_usize..1 << 20,
    ) {
        let shape = if transposed { (columns, rows) } else { (rows, columns) };
        let choices: Vec<usize> = (0..rows * columns).map(|at| (at ^ seed) % 61 % 4).collect();
        let doubles: Vec<f64> = choices.iter().map(|&at| [0.0, 1.0, 2.0, f64::NAN][at]).collect();
        let singles: Vec<f32> = choices.iter().map(|&at| [0.0, 1.0, 2.0, f32::NAN][at]).collect();
        let small: Vec<i8> = choices.iter().map(|&at| [0, 1, 2, -127][at]).collect();
        let expected = pack_naively(&new_matrix(&doubles, shape, orders), count_a1);
        prop_assert_eq!(&pack_to_vec(new_matrix(&doubles, shape, orders), count_a1).unwrap(), &expected);
        prop_assert_eq!(&pack_to_vec(new_matrix(&singles, shape, orders), count_a1).unwrap(), &expected);
        prop_assert_eq!(&pack_to_vec(new_matrix(&small, shape, orders), count_a1).unwrap(), &expected);
    }
}

#[test]
fn an_error_names_the_first_invalid_value() {
    for orders in [(false, false), (false, true), (true, false), (true, true)] {
        let mut values = vec![0.0_f32; 700 * 5];
        let at = if orders.0 { 3 * 700 + 619 } else { 619 * 5 + 3 };
        values[at] = 0.5;
        let error = pack_to_vec(new_matrix(&values, (700, 5), orders), true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 619, column 3: expected 0, 1, 2 or NaN for missing, found 0.5"
        );
    }
}

#[test]
fn an_output_of_the_wrong_size_is_an_error() {
    let values = [0_i8; 5];
    let one = new_matrix(&values, (1, 5), (false, false));
    assert!(pack_genotypes(one, true, &mut [0; 3]).is_err());
    assert!(
        pack_genotypes(
            new_matrix(&values, (1, 6), (false, false)),
            true,
            &mut [0; 2]
        )
        .is_err()
    );
}

#[test]
fn threads_do_not_change_the_result() {
    let values: Vec<i8> = (0..1 << 20)
        .map(|at: usize| [0, 1, 2, -127][at * at % 7 % 4])
        .collect();
    let one = new_matrix(&values, (1 << 10, 1 << 10), (false, true));
    let alone = pack_to_vec(one, true).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    assert_eq!(pool.install(|| pack_to_vec(one, true)).unwrap(), alone);
}
