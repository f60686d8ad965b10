//! Creates an encoding kernel from `encoder.json`.

use std::path::Path;

use seqloom_core::{Result, number::as_u64};
use seqloom_encode::{
    AnyKernel, ElementBits, KmerCounts, KmerNumbering, Kmers, LetterTable, Lookup, OneHot, Policy,
    RowKernel, TokenFrame,
};
use seqloom_graph::Dtype;
use serde_json::{Number, Value};

use super::typed::TypedKernel;
use super::{Encoder, RecordLayout};
use crate::json::JsonObject;

impl Encoder {
    /// Creates the kernel that `encoder.json` describes. Error messages call the file
    /// `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not describe a kernel that this program
    /// supports.
    ///
    /// ```
    /// use seqloom_run::Encoder;
    /// use serde_json::json;
    ///
    /// let letters = json!({"alphabet": "dna", "codes": true, "case": "fold",
    ///     "rna_as_dna": false, "rare": "error", "symbols": "strip_terminal_stop"});
    /// let kernel = json!({"kind": "kmer_counts", "dtype": "float32", "letters": letters,
    ///     "k": 2, "stride": 1, "canonical": false});
    /// let encoder = Encoder::new("encoder.json".as_ref(), &json!({"kernel": kernel}))?;
    /// assert_eq!(encoder.shape(3, encoder.positions(60)), [3, 16]);
    /// # Ok::<(), seqloom_run::Error>(())
    /// ```
    pub fn new(path: &Path, file: &Value) -> Result<Self> {
        let kernel = JsonObject::new(path, file).object("kernel")?;
        let letters = read_letters(&kernel.object("letters")?)?;
        let dtype = read_dtype(&kernel)?;
        let plan = KernelBuilder {
            kernel: &kernel,
            letters: &letters,
            dtype,
        };
        let (typed, layout) = if dtype.size() == 4 {
            plan.build_kernel()
                .map(|(it, layout)| (TypedKernel::FourBytes(it), layout))
        } else {
            plan.build_kernel()
                .map(|(it, layout)| (TypedKernel::EightBytes(it), layout))
        }?;
        Ok(Self {
            reads_qualities: kernel.text("kind")? == "quality",
            letters,
            typed,
            dtype,
            layout,
        })
    }
}

fn read_dtype(kernel: &JsonObject<'_>) -> Result<Dtype> {
    let name = kernel.text("dtype")?;
    match Dtype::from_name(name) {
        Some(dtype @ (Dtype::Float32 | Dtype::Float64 | Dtype::Int32 | Dtype::Int64)) => Ok(dtype),
        _ => Err(kernel.fault(format!(
            "\"dtype\" must be float32, float64, int32 or int64, found {name:?}"
        ))),
    }
}

/// Returns the table of accepted characters: for residues according to the policy, or
/// for qualities.
fn read_letters(object: &JsonObject<'_>) -> Result<LetterTable> {
    if object.optional_text("alphabet")?.is_none() {
        let (first, last) = (read_byte(object, "first")?, read_byte(object, "last")?);
        return Ok(LetterTable::range(first, last, object.text("expected")?));
    }
    let policy = || -> Result<Policy> {
        Ok(Policy {
            codes: object.flag("codes")?,
            case: object.text("case")?.parse()?,
            rna_as_dna: object.flag("rna_as_dna")?,
            rare: object.text("rare")?.parse()?,
            symbols: object.text("symbols")?.parse()?,
        })
    };
    let letters = LetterTable::new(object.text("alphabet")?, policy()?);
    letters.map_err(|error| object.fault(error))
}

fn read_byte(object: &JsonObject<'_>, key: &str) -> Result<u8> {
    let number = object.size(key)?;
    u8::try_from(number).map_err(|_| object.fault(format!("{key:?} must be 0 to 255")))
}

/// An encoding kernel, and the order of the axes of its output.
type KernelAndLayout<T> = (Box<dyn RowKernel<T>>, RecordLayout);

/// Creates an encoding kernel from its JSON object.
struct KernelBuilder<'a> {
    kernel: &'a JsonObject<'a>,
    letters: &'a LetterTable,
    dtype: Dtype,
}

impl KernelBuilder<'_> {
    fn build_kernel<T: ElementBits>(&self) -> Result<KernelAndLayout<T>> {
        match self.kernel.text("kind")? {
            "one_hot" => self.one_hot(),
            "lookup" | "quality" => self.lookup(),
            "kmers" => self.kmers(),
            "kmer_counts" => self.kmer_counts(),
            other => Err(self.kernel.fault(format!(
                "expected the kind one_hot, lookup, kmers, kmer_counts, quality or genotypes, \
                 found {other:?}"
            ))),
        }
    }

    fn one_hot<T: ElementBits>(&self) -> Result<KernelAndLayout<T>> {
        let is_first = self.kernel.flag("channels_first")?;
        let rows = self.read_numbers("rows")?;
        let width = self.letters.residues().len();
        let kernel = self.add_location(OneHot::new(self.letters, rows, is_first))?;
        let layout = if is_first {
            RecordLayout::ChannelsFirst(width)
        } else {
            RecordLayout::ChannelsLast(width)
        };
        Ok((T::boxed(AnyKernel::OneHot(kernel)), layout))
    }

    fn lookup<T: ElementBits>(&self) -> Result<KernelAndLayout<T>> {
        let values: Vec<T> = self.read_numbers("values")?;
        let kernel =
            self.add_location(Lookup::new(&values, token_frame(&self.special_tokens()?)))?;
        Ok((T::boxed(AnyKernel::Lookup(kernel)), RecordLayout::Flat))
    }

    fn kmers<T: ElementBits>(&self) -> Result<KernelAndLayout<T>> {
        let specials = self.special_tokens()?;
        let words = self.kmer_numbering()?;
        let kernel = Kmers {
            first: self.first_kmer_token(&words)?,
            words,
            unknown: specials.get(1).copied().unwrap_or_default(),
            frame: token_frame(&specials),
        };
        Ok((T::boxed(AnyKernel::Kmers(kernel)), RecordLayout::Flat))
    }

    fn kmer_counts<T: ElementBits>(&self) -> Result<KernelAndLayout<T>> {
        let kernel = KmerCounts {
            words: self.kmer_numbering()?,
            is_float: self.dtype.is_float(),
        };
        Ok((
            T::boxed(AnyKernel::KmerCounts(kernel)),
            RecordLayout::Counts,
        ))
    }

    /// Returns the token of the first k-mer. All k-mers must have tokens that fit in
    /// the element type.
    fn first_kmer_token(&self, words: &KmerNumbering) -> Result<u64> {
        let largest = match self.dtype {
            Dtype::Int32 => i64::from(i32::MAX),
            Dtype::Int64 => i64::MAX,
            dtype => {
                let message = format!("\"dtype\" must be int32 or int64 for k-mers, found {dtype}");
                return Err(self.kernel.fault(message));
            }
        };
        let (first, count) = (as_u64(self.kernel.size("first")?), words.distinct_count());
        let most = (largest.cast_unsigned() + 1).checked_sub(count);
        match most.filter(|most| first <= *most) {
            Some(_) => Ok(first),
            None => Err(self.kernel.fault(format!(
                "\"first\" must be at most {}, so that the tokens of {count} words are numbers of \
                 {}, found {first}",
                most.map_or_else(|| "0".to_owned(), |most| most.to_string()),
                self.dtype
            ))),
        }
    }

    fn kmer_numbering(&self) -> Result<KmerNumbering> {
        let (k, stride) = (self.kernel.size("k")?, self.kernel.size("stride")?);
        let is_canonical = self.kernel.flag("canonical")?;
        self.add_location(KmerNumbering::new(self.letters, k, stride, is_canonical))
    }

    /// Returns the padding token and the unknown token, followed by the start token and
    /// the end token if there are any.
    fn special_tokens<T: ElementBits>(&self) -> Result<Vec<T>> {
        let specials = self.read_numbers("specials")?;
        if [2, 4].contains(&specials.len()) {
            return Ok(specials);
        }
        let found = specials.len();
        let message = format!("\"specials\" must be 2 or 4 numbers, found {found}");
        Err(self.kernel.fault(message))
    }

    /// Returns numbers in the bit representation of the element type.
    fn read_numbers<T: ElementBits>(&self, key: &str) -> Result<Vec<T>> {
        let numbers = self.kernel.numbers(key)?;
        let words = numbers.into_iter().map(|number| {
            let found = number_bits(number, self.dtype);
            let found = found.ok_or_else(|| {
                let dtype = self.dtype;
                let message = format!("{key:?} must be numbers of {dtype}, found {number}");
                self.kernel.fault(message)
            });
            found.map(T::from_bits)
        });
        words.collect()
    }

    fn add_location<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.kernel.fault(error))
    }
}

fn token_frame<T: ElementBits>(specials: &[T]) -> TokenFrame<T> {
    TokenFrame {
        pad: specials.first().copied().unwrap_or_default(),
        head: specials.get(2).copied(),
        tail: specials.get(3).copied(),
    }
}

/// Returns the bits of a number, or `None` if the element type cannot represent the
/// number. Integers are never rounded.
#[expect(clippy::cast_possible_truncation, reason = "rounded to nearest")]
fn number_bits(number: &Number, dtype: Dtype) -> Option<u64> {
    match dtype {
        Dtype::Float32 => Some(u64::from((number.as_f64()? as f32).to_bits())),
        Dtype::Float64 => Some(number.as_f64()?.to_bits()),
        Dtype::Int32 => {
            Some(i64::from(i32::try_from(integer_value(number)?).ok()?).cast_unsigned())
        }
        _ => Some(integer_value(number)?.cast_unsigned()),
    }
}

/// Returns an integer from a JSON number. A number such as 3.0 is accepted up to
/// [`MAX_EXACT_INTEGER`].
#[expect(clippy::cast_possible_truncation, reason = "the number is an integer")]
fn integer_value(number: &Number) -> Option<i64> {
    let is_whole = |float: &f64| float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER;
    let float = || number.as_f64().filter(is_whole).map(|float| float as i64);
    number.as_i64().or_else(float)
}

/// The largest integer up to which an `f64` can represent every integer exactly.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_stored_as_the_bits_of_their_type() {
        let found = |number: Value, dtype| number_bits(number.as_number().unwrap(), dtype);
        assert_eq!(found(json!(1), Dtype::Float32), Some(0x3F80_0000));
        assert_eq!(
            found(json!(1.0), Dtype::Float64),
            Some(0x3FF0_0000_0000_0000)
        );
        assert_eq!(
            found(json!(-1), Dtype::Int32).map(u32::from_bits),
            Some(u32::MAX)
        );
        assert_eq!(found(json!(3.0), Dtype::Int64), Some(3));
    }

    #[test]
    fn integers_above_2_to_the_53_are_exact() {
        let large = (1_i64 << 53) + 1;
        let found = number_bits(json!(large).as_number().unwrap(), Dtype::Int64);
        assert_eq!(found, Some(large.cast_unsigned()));
    }

    #[test]
    fn a_number_outside_the_type_is_an_error() {
        for (number, dtype) in [
            (json!(1_i64 << 31), Dtype::Int32),
            (json!(u64::MAX), Dtype::Int64),
            (json!(0.5), Dtype::Int64),
            (json!(1e300), Dtype::Int64),
        ] {
            assert_eq!(number_bits(number.as_number().unwrap(), dtype), None);
        }
    }

    #[test]
    fn kmer_tokens_outside_the_type_are_an_error() {
        let letters = json!({"alphabet": "dna", "codes": true, "case": "fold",
            "rna_as_dna": false, "rare": "error", "symbols": "strip_terminal_stop"});
        let file = |first: u64| {
            let kernel = json!({"kind": "kmers", "dtype": "int32", "letters": letters.clone(),
                "k": 3, "stride": 1, "canonical": false, "specials": [0, 1], "first": first});
            Encoder::new("encoder.json".as_ref(), &json!({ "kernel": kernel }))
        };
        // There are 4^3 k-mers, so the last token is first + 63.
        assert!(file((1 << 31) - 64).is_ok());
        let error = file((1 << 31) - 63).unwrap_err().to_string();
        assert!(
            error.contains("\"first\" must be at most 2147483584"),
            "{error}"
        );
    }
}
