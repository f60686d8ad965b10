//! Hardy-Weinberg equilibrium: the exact test of Wigginton, Cutler and Abecasis (2005),
//! American Journal of Human Genetics 76:887.
//!
//! Given the allele counts, each possible number of heterozygotes has a probability.
//! The p-value is the sum of all probabilities that are at most the probability of the
//! observed number. The ratio of successive probabilities is a simple quotient, so no
//! factorial is computed.

use rayon::prelude::*;

/// The unnormalised probability (weight) of the observed number of heterozygotes. The
/// weight is so small that the sum of all weights is finite even for the smallest
/// p-values.
const OBSERVED_WEIGHT: f64 = 1.033_975_765_691_284_6e-25;

/// The relative difference below which two weights are considered equal.
const WEIGHT_TOLERANCE: f64 = 5.684_341_886_080_802e-14;

/// The number of variants that a thread tests at a time.
const BLOCK_VARIANTS: usize = 1 << 10;

/// Computes the p-values of variants from the counts of homozygous A1, heterozygous and
/// homozygous A2 genotypes. Inside a rayon pool, the threads of the pool share the
/// work.
pub fn exact_p_values(genotypes: &[[u32; 3]], mid: bool, out: &mut [f64]) {
    let fill = |(rows, out): (&[[u32; 3]], &mut [f64])| {
        for (&[hom_a1, het, hom_a2], p) in rows.iter().zip(out) {
            *p = exact_p_value(hom_a1, het, hom_a2, mid);
        }
    };
    // Outside a pool, this thread does all work, because a parallel iterator would
    // create rayon's global pool.
    if rayon::current_thread_index().is_none() {
        return fill((genotypes, out));
    }
    let blocks = genotypes.par_chunks(BLOCK_VARIANTS);
    let out = out.par_chunks_mut(BLOCK_VARIANTS);
    blocks.zip(out).for_each(fill);
}

/// Returns the p-value of the exact test. The mid-p variant adds only half of the
/// probabilities that equal the probability of the observed number (Graffelman & Moreno
/// 2013). Without genotypes, the p-value is 1 and the mid-p value is 0.5.
pub fn exact_p_value(hom_a1: u32, het: u32, hom_a2: u32, mid: bool) -> f64 {
    let start = HardyCounts {
        het: f64::from(het),
        hom: [f64::from(hom_a1), f64::from(hom_a2)],
    };
    if start.has_excess() {
        p_value(start, HardyCounts::remove_hets, HardyCounts::add_hets, mid)
    } else {
        p_value(start, HardyCounts::add_hets, HardyCounts::remove_hets, mid)
    }
}

/// Sums the weights that do not exceed the weight of the observed number, and divides
/// the result by the sum of all weights.
fn p_value(start: HardyCounts, inward: impl CountStep, outward: impl CountStep, mid: bool) -> f64 {
    let observed = OBSERVED_WEIGHT * (1.0 - WEIGHT_TOLERANCE);
    let (centre, far, ties) = sum_side(start, observed, inward);
    let tail = observed + far + sum_tail(start, observed, outward);
    let left_out = if mid { ties * observed / 2.0 } else { 0.0 };
    (tail - left_out) / (tail + centre)
}

/// The number of heterozygous individuals, and the number of individuals that are
/// homozygous for each allele.
#[derive(Clone, Copy)]
struct HardyCounts {
    het: f64,
    hom: [f64; 2],
}

/// A function that changes the counts to the next number of heterozygotes, and returns
/// the ratio of the new probability to the old one.
trait CountStep: Fn(&mut HardyCounts) -> f64 + Copy {}

impl<F: Fn(&mut HardyCounts) -> f64 + Copy> CountStep for F {}

impl HardyCounts {
    /// Returns whether there are more heterozygotes than expected.
    fn has_excess(&self) -> bool {
        let [first, second] = self.hom.map(|hom| 2.0 * hom + self.het);
        self.het * (first + second) > first * second
    }

    /// Replaces two heterozygotes by one homozygote for each allele.
    fn remove_hets(&mut self) -> f64 {
        let ways = self.het * (self.het - 1.0);
        self.het -= 2.0;
        self.hom = self.hom.map(|hom| hom + 1.0);
        ways / (4.0 * self.hom[0] * self.hom[1])
    }

    /// Replaces one homozygote for each allele by two heterozygotes.
    fn add_hets(&mut self) -> f64 {
        let ways = 4.0 * self.hom[0] * self.hom[1];
        self.het += 2.0;
        self.hom = self.hom.map(|hom| hom - 1.0);
        ways / (self.het * (self.het - 1.0))
    }
}

/// Sums the weights of all numbers of heterozygotes above or below the observed number.
/// Returns the sum of the weights above the observed weight, the sum of all other
/// weights, and the number of ties with the observed weight.
fn sum_side(mut counts: HardyCounts, mut weight: f64, step: impl CountStep) -> (f64, f64, f64) {
    let mut centre = 0.0;
    loop {
        weight *= step(&mut counts);
        if weight < OBSERVED_WEIGHT {
            break;
        }
        centre += weight;
        if centre.is_infinite() {
            return (centre, 0.0, 1.0);
        }
    }
    let is_tie = weight > OBSERVED_WEIGHT * (1.0 - 2.0 * WEIGHT_TOLERANCE);
    let ties = if is_tie { 2.0 } else { 1.0 };
    (centre, weight + sum_tail(counts, weight, step), ties)
}

/// Sums the weights after the current weight, until further weights would not change
/// the sum.
fn sum_tail(mut counts: HardyCounts, mut weight: f64, step: impl CountStep) -> f64 {
    let mut total = 0.0;
    loop {
        weight *= step(&mut counts);
        let before = total;
        total += weight;
        if total <= before {
            return total;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the p-value according to its definition, from the probability of each
    /// number of heterozygotes.
    fn reference_p_value(hom_a1: u32, het: u32, hom_a2: u32, mid: bool) -> f64 {
        let (first, total) = (2 * hom_a1 + het, hom_a1 + het + hom_a2);
        let weight = |het: u32| {
            let (a1, a2) = ((first - het) / 2, total - het - (first - het) / 2);
            f64::from(het) * 2_f64.ln() - [a1, het, a2].map(log_factorial).iter().sum::<f64>()
        };
        let largest = first.min(2 * total - first);
        let all = (0..=largest).filter(|n| n % 2 == first % 2).map(weight);
        let (mut tail, mut sum) = (0.0, 0.0);
        for second in all {
            let ratio = (second - weight(het)).exp();
            sum += ratio;
            let is_tie = (ratio - 1.0).abs() < 1e-10;
            let share = if is_tie && mid { 0.5 } else { 1.0 };
            tail += if is_tie || ratio < 1.0 {
                share * ratio
            } else {
                0.0
            };
        }
        tail / sum
    }

    fn log_factorial(n: u32) -> f64 {
        (1..=n).map(|i| f64::from(i).ln()).sum()
    }

    #[test]
    fn the_p_value_without_genotypes_is_1() {
        assert!((exact_p_value(0, 0, 0, false) - 1.0).abs() < 1e-12);
        assert!((exact_p_value(0, 0, 0, true) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn p_values_below_the_smallest_float_are_zero() {
        let small = exact_p_value(530, 0, 530, false);
        assert!(small > 0.0 && small < 1e-300, "{small}");
        assert!(exact_p_value(100_000, 0, 100_000, false).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn p_values_are_the_same_in_a_thread_pool() {
        let rows: Vec<_> = (0..5000).map(|n| [n % 70, n % 61, n % 13]).collect();
        let (mut alone, mut shared) = (vec![0.0; 5000], vec![0.0; 5000]);
        exact_p_values(&rows, false, &mut alone);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        pool.unwrap()
            .install(|| exact_p_values(&rows, false, &mut shared));
        let expected: Vec<_> = rows
            .iter()
            .map(|&[a, b, c]| exact_p_value(a, b, c, false))
            .collect();
        assert!(alone == expected && shared == expected);
    }

    proptest! {
        #[test]
        fn p_values_agree_with_the_definition(
            hom_a1 in 0_u32..60, het in 0_u32..60, hom_a2 in 0_u32..60, mid: bool,
        ) {
            let (found, expected) = (exact_p_value(hom_a1, het, hom_a2, mid), reference_p_value(hom_a1, het, hom_a2, mid));
            prop_assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
        }

        #[test]
        fn exchanged_alleles_do_not_change_the_p_value(hom_a1: u16, het: u16, hom_a2: u16) {
            let [first, two, three] = [hom_a1, het, hom_a2].map(u32::from);
            let (found, exchanged) = (exact_p_value(first, two, three, false), exact_p_value(three, two, first, false));
            prop_assert!((found - exchanged).abs() <= 1e-9 * found);
        }
    }
}
