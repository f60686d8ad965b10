"""Slow reference encoders in plain Python."""

TWO_BASE_CODES = {"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"}
BASES_OF_IUPAC_CODE = TWO_BASE_CODES | {
    "B": "CGT",
    "D": "AGT",
    "H": "ACT",
    "V": "ACG",
    "N": "ACGT",
}
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
AMINO_ACIDS_OF_CODE = {"B": "DN", "Z": "EQ", "J": "IL", "X": AMINO_ACIDS}

# The vocabulary of ESM-2, from fair-esm 2.0: Alphabet.from_architecture("ESM-1b").
ESM2_VOCABULARY = [
    *["<cls>", "<pad>", "<eos>", "<unk>"],
    *["L", "A", "G", "V", "S", "E", "R", "T", "I", "D", "P", "K", "Q", "N"],
    *["F", "Y", "M", "H", "W", "C", "X", "B", "U", "Z", "O", ".", "-"],
    *["<null_1>", "<mask>"],
]
COMPLEMENT_TABLE = str.maketrans("ACGT", "TGCA")


def words(text, k, stride=1):
    return [text[at : at + k] for at in range(0, len(text) - k + 1, stride)]


def number(word, letters="ACGT"):
    """Return a k-mer as a number in base len(alphabet), or None if it is ambiguous."""
    total = 0
    for letter in word:
        if letter not in letters:
            return None
        total = total * len(letters) + letters.index(letter)
    return total


def canonical(word):
    return min(word, word.translate(COMPLEMENT_TABLE)[::-1])


def padded(rows, length, value):
    return [row + [value] * (length - len(row)) for row in rows]
