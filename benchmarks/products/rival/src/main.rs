//! Multiplies matrices with other crates, and prints the seconds per product.
//!
//! Each line of standard input is a request:
//! `crate type layout rows depth columns threads times`.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

/// Two factors and their product, all of one type.
struct MatrixProduct<T> {
    left: Vec<T>,
    right: Vec<T>,
    out: Vec<T>,
    /// Rows, depth and columns.
    sizes: [usize; 3],
    /// Row and column strides of the left and right factor.
    steps: [[isize; 2]; 2],
    threads: usize,
}

impl<T: Clone + From<f32> + 'static> MatrixProduct<T> {
    fn new(layout: &str, [rows, depth, columns]: [usize; 3], threads: usize) -> Self {
        let fill = |count: usize| (0..count).map(|at| T::from((at % 7) as f32)).collect();
        let (m, k, n) = (rows as isize, depth as isize, columns as isize);
        let left = if layout.starts_with('t') { [1, m] } else { [k, 1] };
        let right = if layout.ends_with('t') { [1, k] } else { [n, 1] };
        Self {
            left: fill(rows * depth),
            right: fill(depth * columns),
            out: fill(rows * columns),
            sizes: [rows, depth, columns],
            steps: [left, right],
            threads,
        }
    }

    fn multiply_with_gemm(&mut self) {
        let ([rows, depth, columns], [left, right]) = (self.sizes, self.steps);
        let parallelism = match self.threads {
            1 => gemm::Parallelism::None,
            threads => gemm::Parallelism::Rayon(threads),
        };
        unsafe {
            gemm::gemm(
                rows,
                columns,
                depth,
                self.out.as_mut_ptr(),
                1,
                columns as isize,
                false,
                self.left.as_ptr(),
                left[1],
                left[0],
                self.right.as_ptr(),
                right[1],
                right[0],
                T::from(0.0),
                T::from(1.0),
                false,
                false,
                false,
                parallelism,
            );
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn multiply_with_faer(&mut self) {
        use private_gemm_x86::{Accum, DType, DstKind, IType, InstrSet, gemm};
        let ([rows, depth, columns], [left, right]) = (self.sizes, self.steps);
        let (output_scale, none) = (T::from(1.0), std::ptr::null());
        let is_single = size_of::<T>() == 4;
        unsafe {
            gemm(
                if is_single { DType::F32 } else { DType::F64 },
                IType::U64,
                if cfg!(feature = "avx512") { InstrSet::Avx512 } else { InstrSet::Avx256 },
                rows,
                columns,
                depth,
                self.out.as_mut_ptr().cast(),
                columns as isize,
                1,
                none,
                none,
                DstKind::Full,
                Accum::Replace,
                self.left.as_ptr().cast(),
                left[0],
                left[1],
                false,
                none,
                0,
                self.right.as_ptr().cast(),
                right[0],
                right[1],
                false,
                (&raw const output_scale).cast(),
                self.threads,
            );
        }
    }

    /// Returns the multiplication function of a crate; faer supports only x86.
    fn choose_multiplication(library: &str) -> fn(&mut Self) {
        match library {
            #[cfg(target_arch = "x86_64")]
            "faer" => Self::multiply_with_faer,
            _ => Self::multiply_with_gemm,
        }
    }

    fn mean_seconds(mut self, library: &str, times: usize) -> f64 {
        let multiply = Self::choose_multiplication(library);
        multiply(&mut self);
        let start = Instant::now();
        (0..times).for_each(|_| multiply(&mut self));
        black_box(&self.out);
        start.elapsed().as_secs_f64() / times as f64
    }
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse().unwrap_or(1);
        let (sizes, threads) = ([number(3), number(4), number(5)], number(6));
        let seconds = if words[1] == "float32" {
            MatrixProduct::<f32>::new(words[2], sizes, threads).mean_seconds(words[0], number(7))
        } else {
            MatrixProduct::<f64>::new(words[2], sizes, threads).mean_seconds(words[0], number(7))
        };
        println!("{seconds}");
        io::stdout().flush()?;
    }
    Ok(())
}
