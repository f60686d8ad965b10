"""Reference implementations of all augmentations in Python without NumPy.

docs/reference/augment.md documents the use of each random number. This module shares no
code with the package.
"""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext

MAX_UINT32 = 0xFFFFFFFF
LETTERS, DETAILS, CHOICES = range(3)
RESIDUES_OF_ALPHABET = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}


def threefry(key, count):
    """Return Threefry random numbers (Salmon et al., 2011, section 4.2)."""
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = ((c + k) & MAX_UINT32 for c, k in zip(count, keys, strict=False))
    for block in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[block % 2]:
            x = (x + y) & MAX_UINT32
            y = (((y << turn) | (y >> (32 - turn))) & MAX_UINT32) ^ x
        x = (x + keys[(block + 1) % 3]) & MAX_UINT32
        y = (y + keys[(block + 2) % 3] + block + 1) & MAX_UINT32
    return x, y


def block(key, purpose, index):
    """Return the two random 32-bit numbers of a counter value."""
    return threefry(key, (0xC0000000 | purpose << 24 | index >> 32, index & MAX_UINT32))


def threshold(probability):
    """Return a probability as a multiple of 2^-32."""
    return round(probability * 2**32)


def residue_bits(key, place):
    """Return two random numbers: whether a residue changes, and the new residue."""
    low, high = block(key, LETTERS, place // 8)
    byte = (low | high << 32) >> 8 * (place % 8) & 0xFF
    rest, choice = block(key, DETAILS, place)
    return byte << 24 | rest >> 8, choice


class Choices:
    """Random numbers for choices that concern a whole sequence, such as a shuffle."""

    def __init__(self, key):
        self.key, self.index = key, 0

    def next(self):
        high, low = block(self.key, CHOICES, self.index)
        self.index += 1
        return high << 32 | low

    def below(self, count):
        return self.next() * count >> 64

    def shuffle(self, things):
        for last in range(len(things) - 1, 0, -1):
            other = self.below(last + 1)
            things[last], things[other] = things[other], things[last]


def replace_residue(letter, word, members):
    """Return a random different residue; upper or lower case is kept."""
    own = members.find(letter.upper() if letter not in members else letter)
    if own < 0 or len(members) < 2:
        return letter
    others = members[:own] + members[own + 1 :]
    return match_case(others[word * len(others) >> 32], letter, members)


def insert_residue(letter, word, members):
    return match_case(members[word * len(members) >> 32], letter, members)


def match_case(new, near, members):
    return new.lower() if near.islower() and near not in members else new


# Each augmentation maps a list of (residue, quality) pairs to a new list of such pairs.


def reverse_complement(pairs, key, *, p=0.5, alphabet="dna"):
    if Choices(key).next() >> 32 >= threshold(p):
        return pairs
    opposite = dict(zip("ACGTURYSWKMBDHVN-.", "TGCAAYRSWMKVHDBN-.", strict=True))
    if alphabet == "rna":
        opposite["A"] = "U"
    both = opposite | {a.lower(): b.lower() for a, b in opposite.items()}
    return [(both[letter], quality) for letter, quality in reversed(pairs)]


def mutate(pairs, key, *, rate=0.0, insertions=0.0, deletions=0.0, alphabet="dna"):
    members = RESIDUES_OF_ALPHABET.get(alphabet, alphabet)
    lost = threshold(rate) + threshold(deletions)
    out = []
    for place, (letter, quality) in enumerate(pairs):
        number, choice = residue_bits(key, place)
        if number < threshold(rate):
            out.append((replace_residue(letter, choice, members), quality))
        elif number >= lost:
            out.append((letter, quality))
            if number < lost + threshold(insertions):
                out.append((insert_residue(letter, choice, members), quality))
    return out


def mask(pairs, key, *, rate=0.15, letter="N"):
    hidden = [residue_bits(key, place)[0] < threshold(rate) for place in range(len(pairs))]
    return [
        (letter if hides else old, q) for hides, (old, q) in zip(hidden, pairs, strict=True)
    ]


def quality_noise(pairs, key, *, offset=33, alphabet="dna"):
    members = RESIDUES_OF_ALPHABET.get(alphabet, alphabet)
    out = []
    for place, (letter, quality) in enumerate(pairs):
        number, choice = residue_bits(key, place)
        wrong = number < wrong_threshold(quality - offset)
        out.append((replace_residue(letter, choice, members) if wrong else letter, quality))
    return out


def wrong_threshold(quality):
    """Return 10^(-Q / 10) as a multiple of 2^-32, computed in decimal arithmetic."""
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(2) ** 32 * Decimal(10) ** (-Decimal(quality) / 10)
        return min(int(exact.quantize(Decimal(1), ROUND_HALF_EVEN)), MAX_UINT32)


def crop(pairs, key, *, length, mode="random"):
    spare = len(pairs) - length
    if spare < 0:
        return pairs
    starts = {"start": 0, "centre": spare // 2}
    start = starts[mode] if mode in starts else Choices(key).below(spare + 1)
    return pairs[start : start + length]


def shift(pairs, key, *, max_shift, mode="fill", letter="N"):
    right = Choices(key).below(2 * max_shift + 1) - max_shift
    length = len(pairs)
    if mode == "roll":
        return [pairs[(place - right) % length] for place in range(length)]
    blank = (letter, ord("!"))
    origins = [place - right for place in range(length)]
    return [pairs[place] if 0 <= place < length else blank for place in origins]


def shuffle_kmers(pairs, key, *, k=1):
    choices = Choices(key)
    if k == 1:
        out = list(pairs)
        choices.shuffle(out)
        return out
    return list(pairs) if len(pairs) <= k else euler_tour(pairs, k - 1, choices)


def euler_tour(pairs, width, choices):
    """Shuffle like Altschul and Erickson (1985), with a random tree (Wilson 1996)."""
    letters = "".join(letter for letter, _ in pairs)
    words = [letters[i : i + width] for i in range(len(letters) - width + 1)]
    leaving = {word: [] for word in words}
    for edge, word in enumerate(words[:-1]):
        leaving[word].append(edge)
    exits, reached = {}, {words[-1]}
    for first in leaving:
        word = first
        while word not in reached:
            exits[word] = choices.below(len(leaving[word]))
            word = words[leaving[word][exits[word]] + 1]
        word = first
        while word not in reached:
            reached.add(word)
            word = words[leaving[word][exits[word]] + 1]
    for word, edges in leaving.items():
        last = []
        if word != words[-1]:
            nth = exits[word]
            edges[nth], edges[-1] = edges[-1], edges[nth]
            last = [edges.pop()]
        choices.shuffle(edges)
        edges.extend(last)
    out, word = list(pairs[:width]), words[0]
    for _ in words[1:]:
        edge = leaving[word].pop(0)
        out.append(pairs[edge + width])
        word = words[edge + 1]
    return out


def compose(pairs, key, members):
    for place, (change, options) in enumerate(members):
        pairs = change(pairs, threefry(key, (0, place)), **options)
    return pairs
