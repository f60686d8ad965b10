//! Alphabets: which letters are members, and which stand for several.

use crate::{Error, Result};

/// An ambiguity code and the letters that it stands for.
type Ambiguity = (u8, &'static [u8]);

const DNA: &[u8] = b"ACGT";
const RNA: &[u8] = b"ACGU";
const PROTEIN: &[u8] = b"ACDEFGHIKLMNPQRSTVWY";
const IUPAC: &[u8] = b"ACGTRYSWKMBDHVN";

/// The codes of IUPAC-IUB 1984 (Cornish-Bowden 1985).
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

/// Residues outside the twenty, each with the one that it is read as on request:
/// selenocysteine as cysteine, pyrrolysine as lysine.
const PROTEIN_RARE: [(u8, u8); 2] = [(b'U', b'C'), (b'O', b'K')];

/// A gap in an alignment, and the same where it is not the end.
const GAPS: &[u8] = b"-.";
/// A translated stop codon, and gaps.
const PROTEIN_SYMBOLS: &[u8] = b"*-.";

/// The letters of a sequence, in the order of their channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    letters: Vec<u8>,
    ambiguities: &'static [Ambiguity],
    rare: &'static [(u8, u8)],
    symbols: &'static [u8],
}

impl Alphabet {
    /// An alphabet by name (`dna`, `rna`, `protein`, `iupac`), or made of the
    /// distinct letters of `name` itself.
    pub fn new(name: &str) -> Result<Self> {
        Ok(match name {
            "dna" => Self::named(DNA, &DNA_AMBIGUITIES),
            "rna" => Self::named(RNA, &RNA_AMBIGUITIES),
            "protein" => Self {
                rare: &PROTEIN_RARE,
                symbols: PROTEIN_SYMBOLS,
                ..Self::named(PROTEIN, &PROTEIN_AMBIGUITIES)
            },
            "iupac" => Self::named(IUPAC, &[]),
            letters => Self {
                symbols: &[],
                ..Self::named(distinct(letters)?, &[])
            },
        })
    }

    fn named(letters: &[u8], ambiguities: &'static [Ambiguity]) -> Self {
        Self {
            letters: letters.to_vec(),
            ambiguities,
            rare: &[],
            symbols: GAPS,
        }
    }

    /// The members, in the order of their channels.
    pub fn letters(&self) -> &[u8] {
        &self.letters
    }

    /// The codes that stand for several members, each with those members.
    pub fn ambiguities(&self) -> &'static [(u8, &'static [u8])] {
        self.ambiguities
    }

    /// The residues outside the members that nature has, each with the member
    /// that stands in for it.
    pub fn rare(&self) -> &'static [(u8, u8)] {
        self.rare
    }

    /// The marks that are no residues: a translated stop codon, gaps.
    pub fn symbols(&self) -> &'static [u8] {
        self.symbols
    }

    /// Whether a `*` may end a sequence (a translated stop codon).
    pub fn has_stop(&self) -> bool {
        self.symbols.contains(&b'*')
    }
}

/// The bytes of `letters`, if they can be an alphabet.
fn distinct(letters: &str) -> Result<&[u8]> {
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
    fn every_ambiguity_stands_for_members_only() {
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
    fn letters_of_ones_own_keep_their_order() {
        assert_eq!(Alphabet::new("HEC").unwrap().letters(), b"HEC");
    }

    #[test]
    fn repeated_blank_or_foreign_letters_make_no_alphabet() {
        for letters in ["", "AA", "A C", "ACGÜ", "A\n"] {
            assert!(Alphabet::new(letters).is_err(), "{letters:?}");
        }
    }
}
