//! Random augmentations of sequences.

use std::borrow::Cow;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyBytes};
use seqloom_core::{BufferPool, Key, Ragged, Result};
use seqloom_encode::augment::{
    AugmentInput, Augmentation, AugmentedBatch, AugmentedRow, Chance, Crop, CropMode, Mask, Mutate,
    QualityNoise, Replacement, ReverseComplement, Shift, ShuffleKmers,
};
use seqloom_macros::python_export;

use crate::{error, pool, pooled};

/// A sequence augmentation with checked arguments.
#[python_export(frozen)]
pub(crate) struct Augmenter {
    augmentation: Augmentation,
    bytes: BufferPool<u8>,
}

/// A sequence and, if given, its qualities.
type SingleSequence<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);
/// Residues, offsets and, if given, qualities.
type ManySequences<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Option<Bound<'py, PyArray1<u8>>>,
);

impl Augmenter {
    fn new(py: Python<'_>, augmentation: Result<Augmentation>) -> PyResult<Self> {
        Ok(Self {
            augmentation: error::raise(py, augmentation)?,
            bytes: BufferPool::default(),
        })
    }
}

#[python_export]
impl Augmenter {
    /// Creates an augmentation that reverse-complements a sequence with probability
    /// `p`.
    #[staticmethod]
    fn reverse_complement(py: Python<'_>, p: f64, alphabet: &str) -> PyResult<Self> {
        let complement = Chance::new("p", p).and_then(|p| ReverseComplement::new(p, alphabet));
        Self::new(py, complement.map(Augmentation::ReverseComplement))
    }

    /// Creates an augmentation with substitutions, deletions and insertions.
    #[staticmethod]
    fn mutate(
        py: Python<'_>,
        rate: f64,
        deletions: f64,
        insertions: f64,
        alphabet: &str,
    ) -> PyResult<Self> {
        let mutate = || {
            let chances = [
                Chance::new("rate", rate)?,
                Chance::new("deletions", deletions)?,
                Chance::new("insertions", insertions)?,
            ];
            Mutate::new(chances, Replacement::new(alphabet)?)
        };
        Self::new(py, mutate().map(Augmentation::Mutate))
    }

    /// Creates an augmentation that crops a long sequence to a window.
    #[staticmethod]
    fn crop(py: Python<'_>, length: usize, mode: &str) -> PyResult<Self> {
        let mode = match mode {
            "centre" => CropMode::Centre,
            "start" => CropMode::Start,
            _ => CropMode::Random,
        };
        Self::new(py, Crop::new(length, mode).map(Augmentation::Crop))
    }

    /// Creates an augmentation that shifts the residues of a sequence; without `fill`,
    /// the residues rotate.
    #[staticmethod]
    fn shift(py: Python<'_>, most: usize, fill: Option<u8>) -> PyResult<Self> {
        Self::new(py, Shift::new(most, fill).map(Augmentation::Shift))
    }

    /// Creates an augmentation that masks residues.
    #[staticmethod]
    fn mask(py: Python<'_>, rate: f64, letter: u8) -> PyResult<Self> {
        let mask = Chance::new("rate", rate).map(|chance| Mask::new(chance, letter));
        Self::new(py, mask.map(Augmentation::Mask))
    }

    /// Creates an augmentation that shuffles a sequence while preserving its k-mer
    /// counts.
    #[staticmethod]
    fn shuffle_kmers(py: Python<'_>, k: usize) -> PyResult<Self> {
        Self::new(py, ShuffleKmers::new(k).map(Augmentation::ShuffleKmers))
    }

    /// Creates an augmentation that substitutes each base with the error probability
    /// given by its quality.
    #[staticmethod]
    fn quality_noise(py: Python<'_>, offset: u8, alphabet: &str) -> PyResult<Self> {
        let letters = Replacement::new(alphabet);
        let noise = letters.and_then(|letters| QualityNoise::new(offset, letters));
        Self::new(py, noise.map(Augmentation::QualityNoise))
    }

    /// Creates an augmentation that applies several augmentations one after the other.
    #[staticmethod]
    fn compose(py: Python<'_>, members: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let members = members.iter().map(|member| member.augmentation.clone());
        Self::new(py, Ok(Augmentation::Compose(members.collect())))
    }

    /// Augments one sequence.
    fn augment_one<'py>(
        &self,
        py: Python<'py>,
        letters: Cow<'py, [u8]>,
        key: (u32, u32),
        quality: Option<Cow<'py, [u8]>>,
    ) -> PyResult<SingleSequence<'py>> {
        let row = pool::run(py, 1, || {
            let mut row = AugmentedRow::default();
            row.load(0, &letters, quality.as_deref());
            let applied = self.augmentation.apply(&mut row, Key(key.into()));
            applied.map(|()| row)
        })?;
        let quality = row.has_qualities.then(|| PyBytes::new(py, &row.qualities));
        Ok((PyBytes::new(py, &row.letters), quality))
    }

    /// Augments every sequence of a batch, with one random key per sequence.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray1<'py, u8>,
        offsets: PyReadonlyArray1<'py, i64>,
        qualities: Option<PyReadonlyArray1<'py, u8>>,
        keys: PyReadonlyArray2<'py, u32>,
        threads: usize,
    ) -> PyResult<ManySequences<'py>> {
        let (letters, starts, keys) = (data.as_slice()?, offsets.as_slice()?, keys.as_slice()?);
        let qualities = qualities.as_ref().map(|all| all.as_slice()).transpose()?;
        let changed = pool::run(py, threads, || {
            let among = |data| Ragged::new(data, starts);
            let qualities = qualities.map(among).transpose()?;
            let sequences = AugmentInput::new(among(letters)?, qualities, keys)?;
            let mut out = self.empty_batch();
            self.augmentation
                .augment_batch(&sequences, &mut out, threads)?;
            Ok(out)
        })?;
        // Unrequested qualities are dropped here, so their memory returns to the pool.
        let changed_qualities = pooled::array(py, changed.qualities, &self.bytes)?;
        Ok((
            pooled::array(py, changed.letters, &self.bytes)?,
            changed.offsets.into_pyarray(py),
            qualities.is_some().then_some(changed_qualities),
        ))
    }
}

impl Augmenter {
    /// Returns a batch as arrays whose memory is pooled.
    fn empty_batch(&self) -> AugmentedBatch {
        AugmentedBatch {
            letters: self.bytes.take(),
            qualities: self.bytes.take(),
            offsets: Vec::new(),
        }
    }
}
