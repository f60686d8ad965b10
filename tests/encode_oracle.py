"""Slow encoders in plain Python, which the fast ones must equal."""

TWO = {"R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC"}
IUPAC = TWO | {"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"}
TWENTY = "ACDEFGHIKLMNPQRSTVWY"
PROTEIN = {"B": "DN", "Z": "EQ", "J": "IL", "X": TWENTY}

# The list that is published with ESM-2: fair-esm 2.0, Alphabet.from_architecture("ESM-1b").
ESM2 = [
    *["<cls>", "<pad>", "<eos>", "<unk>"],
    *["L", "A", "G", "V", "S", "E", "R", "T", "I", "D", "P", "K", "Q", "N"],
    *["F", "Y", "M", "H", "W", "C", "X", "B", "U", "Z", "O", ".", "-"],
    *["<null_1>", "<mask>"],
]
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def words(text, k, stride=1):
    return [text[at : at + k] for at in range(0, len(text) - k + 1, stride)]


def number(word, letters="ACGT"):
    """A word as a number in base of the alphabet, or None if it is not all members."""
    total = 0
    for letter in word:
        if letter not in letters:
            return None
        total = total * len(letters) + letters.index(letter)
    return total


def canonical(word):
    return min(word, word.translate(COMPLEMENT)[::-1])


def padded(rows, length, value):
    return [row + [value] * (length - len(row)) for row in rows]
