//! Alphabets: the residues of sequences, and the ambiguity codes that represent several
//! residues.

use crate::{Error, Result};

/// An ambiguity code and the residues that it represents.
type Ambiguity = (u8, &'static [u8]);

const DNA: &[u8] = b"ACGT";
const RNA: &[u8] = b"ACGU";
const PROTEIN: &[u8] = b"ACDEFGHIKLMNPQRSTVWY";
const IUPAC: &[u8] = b"ACGTRYSWKMBDHVN";

/// The IUPAC-IUB ambiguity codes of 1984 (Cornish-Bowden 1985).
const DNA_AMBIGUITIES: [Ambiguity; 11] = [
    (b'R', b"AG"),
    (b'Y', b"CT"),
    (b'S', b"CG"),
    (b'W', b"AT"),
    (b'K', b"GT"),
    (b'M', b"AC"),
    (b'B', b"CGT"),
    (b'D', b"AGT"),
    (b'H', b"ACT"),
    (b'V', b"ACG"),
    (b'N', b"ACGT"),
];

const RNA_AMBIGUITIES: [Ambiguity; 11] = [
    (b'R', b"AG"),
    (b'Y', b"CU"),
    (b'S', b"CG"),
    (b'W', b"AU"),
    (b'K', b"GU"),
    (b'M', b"AC"),
    (b'B', b"CGU"),
    (b'D', b"AGU"),
    (b'H', b"ACU"),
    (b'V', b"ACG"),
    (b'N', b"ACGU"),
];

const PROTEIN_AMBIGUITIES: [Ambiguity; 4] =
    [(b'B', b"DN"), (b'Z', b"EQ"), (b'J', b"IL"), (b'X', PROTEIN)];

/// Amino acids outside the standard twenty, each with the standard amino acid that may
/// replace it: cysteine for selenocysteine, and lysine for pyrrolysine.
const RARE_AMINO_ACIDS: [(u8, u8); 2] = [(b'U', b'C'), (b'O', b'K')];

/// Characters for a gap in an alignment.
const GAP_CHARACTERS: &[u8] = b"-.";
/// Characters for a translated stop codon and for gaps.
const PROTEIN_SYMBOLS: &[u8] = b"*-.";

/// The residues of an alphabet, in the order of the one-hot channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    letters: Vec<u8>,
    ambiguities: &'static [Ambiguity],
    rare: &'static [(u8, u8)],
    symbols: &'static [u8],
}

impl Alphabet {
    /// Returns the alphabet `dna`, `rna`, `protein` or `iupac`, or else an alphabet of
    /// the distinct characters in `name`.
    pub fn new(name: &str) -> Result<Self> {
        Ok(match name {
            "dna" => Self::from_residues(DNA, &DNA_AMBIGUITIES),
            "rna" => Self::from_residues(RNA, &RNA_AMBIGUITIES),
            "protein" => Self {
                rare: &RARE_AMINO_ACIDS,
                symbols: PROTEIN_SYMBOLS,
                ..Self::from_residues(PROTEIN, &PROTEIN_AMBIGUITIES)
            },
            "iupac" => Self::from_residues(IUPAC, &[]),
            letters => Self {
                symbols: &[],
                ..Self::from_residues(distinct_residues(letters)?, &[])
            },
        })
    }

    fn from_residues(letters: &[u8], ambiguities: &'static [Ambiguity]) -> Self {
        Self {
            letters: letters.to_vec(),
            ambiguities,
            rare: &[],
            symbols: GAP_CHARACTERS,
        }
    }

    /// Returns the residues, in the order of the one-hot channels.
    pub fn letters(&self) -> &[u8] {
        &self.letters
    }

    /// Returns the ambiguity codes, each with the residues that it represents.
    pub fn ambiguities(&self) -> &'static [(u8, &'static [u8])] {
        self.ambiguities
    }

    /// Returns the rare natural amino acids outside the alphabet, each with the residue that
    /// may replace it.
    pub fn rare_amino_acids(&self) -> &'static [(u8, u8)] {
        self.rare
    }

    /// Returns the characters that are not residues: a translated stop codon and gaps.
    pub fn symbols(&self) -> &'static [u8] {
        self.symbols
    }

    /// Returns whether `*` (a translated stop codon) may end a sequence.
    pub fn has_stop(&self) -> bool {
        self.symbols.contains(&b'*')
    }
}

/// Returns the bytes of `letters` if they are distinct ASCII letters.
fn distinct_residues(letters: &str) -> Result<&[u8]> {
    let bytes = letters.as_bytes();
    let repeated = (1..bytes.len()).any(|i| bytes[..i].contains(&bytes[i]));
    if bytes.is_empty() || repeated || !bytes.iter().all(u8::is_ascii_graphic) {
        return Err(Error::argument(format!(
            "alphabet must be 'dna', 'rna', 'protein', 'iupac' or distinct ASCII letters, got {letters:?}"
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ambiguity_code_represents_residues_of_its_alphabet() {
        for name in ["dna", "rna", "protein"] {
            let alphabet = Alphabet::new(name).unwrap();
            for (code, members) in alphabet.ambiguities() {
                assert!(!alphabet.letters().contains(code), "{name}");
                assert!(
                    members.iter().all(|m| alphabet.letters().contains(m)),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn rna_is_dna_with_u_for_t() {
        let swap = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .replace('T', "U")
                .into_bytes()
        };
        let (dna, rna) = (Alphabet::new("dna").unwrap(), Alphabet::new("rna").unwrap());
        assert_eq!(swap(dna.letters()), rna.letters());
        for (d, r) in dna.ambiguities().iter().zip(rna.ambiguities()) {
            assert_eq!((d.0, swap(d.1)), (r.0, r.1.to_vec()));
        }
    }

    #[test]
    fn a_custom_alphabet_keeps_the_order_of_its_residues() {
        assert_eq!(Alphabet::new("HEC").unwrap().letters(), b"HEC");
    }

    #[test]
    fn repeated_or_non_ascii_characters_are_not_an_alphabet() {
        for letters in ["", "AA", "A C", "ACGÜ", "A\n"] {
            assert!(Alphabet::new(letters).is_err(), "{letters:?}");
        }
    }
}
