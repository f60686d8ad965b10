//! Hardy-Weinberg equilibrium: the exact test of Wigginton, Cutler and Abecasis (2005),
//! American Journal of Human Genetics 76:887.
//!
//! How often each allele occurs is given. Every number of heterozygotes then has a
//! probability, and p is the sum of those that are not above that of the number observed.
//! Neighbours differ by a ratio of small products, so that no factorial is ever computed.

use rayon::prelude::*;

/// The weight of what was observed; so small that the sum of all weights stays finite
/// where p is as small as a number can be.
const OBSERVED: f64 = 1.033_975_765_691_284_6e-25;

/// Weights that differ by less, relatively, are equal.
const ROUNDING: f64 = 5.684_341_886_080_802e-14;

/// So many variants are tested at once by a thread.
const BLOCK: usize = 1 << 10;

/// The p-values of many variants, each of which has a count of homozygous A1, heterozygous
/// and homozygous A2; in the current pool, where there is one.
pub fn exact_ps(genotypes: &[[u32; 3]], mid: bool, out: &mut [f64]) {
    let fill = |(rows, out): (&[[u32; 3]], &mut [f64])| {
        for (&[hom_a1, het, hom_a2], p) in rows.iter().zip(out) {
            *p = exact_p(hom_a1, het, hom_a2, mid);
        }
    };
    // Outside a pool rayon would build its global one.
    if rayon::current_thread_index().is_none() {
        return fill((genotypes, out));
    }
    let blocks = genotypes.par_chunks(BLOCK);
    blocks.zip(out.par_chunks_mut(BLOCK)).for_each(fill);
}

/// The p-value of the exact test. The mid-p variant counts half of what is as likely as
/// what was observed (Graffelman & Moreno 2013). Without genotypes p is 1, mid-p 0.5.
pub fn exact_p(hom_a1: u32, het: u32, hom_a2: u32, mid: bool) -> f64 {
    let start = Split {
        het: f64::from(het),
        hom: [f64::from(hom_a1), f64::from(hom_a2)],
    };
    if start.has_excess() {
        test(start, Split::lose, Split::gain, mid)
    } else {
        test(start, Split::gain, Split::lose, mid)
    }
}

/// Sums what is no likelier than what was observed, and all else, on both sides of it.
fn test(start: Split, inward: impl SplitStep, outward: impl SplitStep, mid: bool) -> f64 {
    let observed = OBSERVED * (1.0 - ROUNDING);
    let (centre, far, ties) = cross(start, observed, inward);
    let tail = observed + far + sum(start, observed, outward);
    let left_out = if mid { ties * observed / 2.0 } else { 0.0 };
    (tail - left_out) / (tail + centre)
}

/// How many individuals have which genotype.
#[derive(Clone, Copy)]
struct Split {
    het: f64,
    hom: [f64; 2],
}

/// To the next number of heterozygotes; how many times as likely it is.
trait SplitStep: Fn(&mut Split) -> f64 + Copy {}

impl<F: Fn(&mut Split) -> f64 + Copy> SplitStep for F {}

impl Split {
    /// Whether there are more heterozygotes than expected.
    fn has_excess(&self) -> bool {
        let [one, other] = self.hom.map(|hom| 2.0 * hom + self.het);
        self.het * (one + other) > one * other
    }

    /// Two heterozygotes become one homozygote of each kind.
    fn lose(&mut self) -> f64 {
        let ways = self.het * (self.het - 1.0);
        self.het -= 2.0;
        self.hom = self.hom.map(|hom| hom + 1.0);
        ways / (4.0 * self.hom[0] * self.hom[1])
    }

    /// One homozygote of each kind become two heterozygotes.
    fn gain(&mut self) -> f64 {
        let ways = 4.0 * self.hom[0] * self.hom[1];
        self.het += 2.0;
        self.hom = self.hom.map(|hom| hom - 1.0);
        ways / (self.het * (self.het - 1.0))
    }
}

/// Walks over what is likelier than what was observed. Gives its sum, the sum of the tail
/// behind it, and how many weights are as large as the first, which is one of them.
fn cross(mut split: Split, mut weight: f64, step: impl SplitStep) -> (f64, f64, f64) {
    let mut centre = 0.0;
    loop {
        weight *= step(&mut split);
        if weight < OBSERVED {
            break;
        }
        centre += weight;
        if centre.is_infinite() {
            return (centre, 0.0, 1.0);
        }
    }
    let is_tie = weight > OBSERVED * (1.0 - 2.0 * ROUNDING);
    let ties = if is_tie { 2.0 } else { 1.0 };
    (centre, weight + sum(split, weight, step), ties)
}

/// Sums the weights beyond this one until they no longer count.
fn sum(mut split: Split, mut weight: f64, step: impl SplitStep) -> f64 {
    let mut total = 0.0;
    loop {
        weight *= step(&mut split);
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

    /// The same from the definition: the probability of each number of heterozygotes.
    fn slow(hom_a1: u32, het: u32, hom_a2: u32, mid: bool) -> f64 {
        let (one, total) = (2 * hom_a1 + het, hom_a1 + het + hom_a2);
        let weight = |het: u32| {
            let (a1, a2) = ((one - het) / 2, total - het - (one - het) / 2);
            f64::from(het) * 2_f64.ln() - [a1, het, a2].map(log_factorial).iter().sum::<f64>()
        };
        let most = one.min(2 * total - one);
        let all = (0..=most).filter(|n| n % 2 == one % 2).map(weight);
        let (mut tail, mut sum) = (0.0, 0.0);
        for other in all {
            let ratio = (other - weight(het)).exp();
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
    fn nothing_observed_is_no_departure() {
        assert!((exact_p(0, 0, 0, false) - 1.0).abs() < 1e-12);
        assert!((exact_p(0, 0, 0, true) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn p_goes_down_to_the_smallest_number_and_then_to_nothing() {
        let small = exact_p(530, 0, 530, false);
        assert!(small > 0.0 && small < 1e-300, "{small}");
        assert!(exact_p(100_000, 0, 100_000, false).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn many_variants_are_tested_alike_in_a_pool() {
        let rows: Vec<_> = (0..5000).map(|n| [n % 70, n % 61, n % 13]).collect();
        let (mut alone, mut shared) = (vec![0.0; 5000], vec![0.0; 5000]);
        exact_ps(&rows, false, &mut alone);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        pool.unwrap()
            .install(|| exact_ps(&rows, false, &mut shared));
        let wanted: Vec<_> = rows
            .iter()
            .map(|&[a, b, c]| exact_p(a, b, c, false))
            .collect();
        assert!(alone == wanted && shared == wanted);
    }

    proptest! {
        #[test]
        fn p_is_the_share_of_what_is_no_likelier(
            hom_a1 in 0_u32..60, het in 0_u32..60, hom_a2 in 0_u32..60, mid: bool,
        ) {
            let (found, wanted) = (exact_p(hom_a1, het, hom_a2, mid), slow(hom_a1, het, hom_a2, mid));
            prop_assert!((found - wanted).abs() <= 1e-9 * wanted, "{found} {wanted}");
        }

        #[test]
        fn the_alleles_may_change_positions(hom_a1: u16, het: u16, hom_a2: u16) {
            let [one, two, three] = [hom_a1, het, hom_a2].map(u32::from);
            let (found, exchanged) = (exact_p(one, two, three, false), exact_p(three, two, one, false));
            prop_assert!((found - exchanged).abs() <= 1e-9 * found);
        }
    }
}
