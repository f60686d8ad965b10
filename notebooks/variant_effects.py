# %% [markdown]
# # What does this variant do?
#
# Train a network on real splice sites, score variants near these sites, and look at one variant base by base.
#
# The example files have windows of 60 bases from primate genes, but no chromosomes. Therefore, each contig of
# the genome below consists of four windows: an unrelated one, an acceptor site (an exon starts), a donor site (the
# exon ends), and another unrelated one.

# %%
# !seqloom demo --files .

# %%
import csv
import warnings

import matplotlib.pyplot as plt
import numpy as np
import seqloom as sl

genome = {}


def write_contigs(name):
    """Join the windows of a file to contigs, and write the intervals of the windows."""
    with open(f"{name}.tsv") as file:
        labels = {row["id"]: row["label"] for row in csv.DictReader(file, delimiter="\t")}
    windows = {"N": [], "IE": [], "EI": []}
    with sl.io.open_sequences(f"{name}.fa.gz") as reader:
        for record in reader:
            windows[labels[record.id]].append(record.sequence.decode())
    both = windows["N"][::2], windows["IE"], windows["EI"], windows["N"][1::2]
    with open(f"{name}.bed", "w") as file:
        for number, parts in enumerate(zip(*both)):
            genome[f"{name}_{number}"] = "".join(parts)
            for place, label in enumerate(("neither", "acceptor", "donor", "neither")):
                start = 60 * place
                print(f"{name}_{number}", start, start + 60, label, sep="\t", file=file)


write_contigs("train")
write_contigs("test")
with open("genome.fa", "w") as file:
    for contig, sequence in genome.items():
        print(f">{contig}\n{sequence}", file=file)

# %% [markdown]
# ## Train
#
# Later, each window has its variant in the middle, and the site next to the middle. During training, `jitter` therefore
# moves the windows by up to six bases, differently in every epoch.

# %%
data = sl.data.IntervalDataset(
    "genome.fa",
    "train.bed",
    labels=sl.data.Labels("name"),
    encoder=sl.encode.OneHot("dna"),
    width=60,
    jitter=6,
    edge="pad",
)
config = sl.models.SequenceCNNConfig.for_data(data)
objective = sl.train.Objective(baselines=False)
run = sl.train.fit(config, data, epochs=16, lr=2e-3, objective=objective, progress=False)

labels = sl.data.Labels("name", classes=data.classes)
test = sl.data.IntervalDataset("genome.fa", "test.bed", labels=labels, encoder=data.encoder)
with warnings.catch_warnings(record=True) as caught:
    accuracy = sl.infer.evaluate(run, test)["accuracy"]
print(f"accuracy on the test windows: {accuracy:.2f}")
print(caught[0].message)

# %% [markdown]
# ## Score a VCF file
#
# In each contig, the exon ends at position 150, and the intron begins with GT at 151. The file below has variants of
# one contig. Two records are the same deletion of a G, and `<DEL>` has no sequence.

# %%
contig = "test_233"
print(genome[contig][140:150], genome[contig][150:160])

with open("my.vcf", "w") as file:
    print("##fileformat=VCFv4.3", file=file)
    for line in (
        "#CHROM POS ID REF ALT QUAL FILTER INFO",
        f"{contig} 146 in_exon A C . . .",
        f"{contig} 148 one_G TG T . . .",
        f"{contig} 150 same_G GG G . . .",
        f"{contig} 151 first_base G A . . .",
        f"{contig} 151 without_T GT G . . .",
        f"{contig} 155 fifth_base G T . . .",
        f"{contig} 160 no_sequence G <DEL> . . .",
    ):
        print("\t".join(line.split()), file=file)

# %% [markdown]
# Each variant is in the middle of its window of 60 bases. The columns are the probability of a donor site with the
# reference and with the alternative allele:

# %%
effects = sl.infer.variant_effects(run, "my.vcf", "genome.fa")
for name, allele, status, *scores in zip(
    effects.ids,
    effects.alleles,
    effects.status,
    effects["reference_donor"],
    effects["alternative_donor"],
):
    print(f"{name:12}{allele or '-':19}{status:9}", *(f"{score:6.2f}" for score in scores))

# %% [markdown]
# The first base of the intron and the T are necessary. The fifth base of the intron supports the site, and a
# variant in the exon changes nothing. Without one of three G, GT still follows the exon. The deletion has the same
# normal form and the same score in both records.
#
# In a shell, `seqloom effects RUN my.vcf --genome genome.fa --out scored.vcf.gz` writes these scores into the VCF file.
#
# ## Score every substitution near all sites
#
# A table is read like a VCF file. It has all substitutions of the last three bases of each exon and the first eight
# bases of each intron. `compare="logit"` is the change of the log-odds, which does not saturate near 1.

# %% alt="Bar plot of the mean change of the log-odds by position: far below 0 at the first two bases of the intron, about half as much at its fifth base and the last base of the exon, near 0 elsewhere."
table = {"chrom": [], "pos": [], "ref": [], "alt": []}
for name in (name for name in genome if name.startswith("test")):
    for position in range(148, 159):
        ref = genome[name][position - 1]
        for alt in "ACGT".replace(ref, ""):
            for column, value in zip(table, (name, position, ref, alt)):
                table[column].append(value)

effects = sl.infer.variant_effects(run, table, "genome.fa", compare="logit")
print(f"{len(effects):,} variants, {sum(it == 'ok' for it in effects.status):,} scored")

positions = np.unique(table["pos"])
change = [effects["logit_donor"][table["pos"] == it].mean() for it in positions]
names = [f"{it - 151}" if it < 151 else f"+{it - 150}" for it in positions]
figure, axis = plt.subplots()
axis.bar(names, change)
axis.set(xlabel="position in the intron (+) or exon (-)", ylabel="change of the log-odds")
plt.show()

# %% [markdown]
# The network found the known donor motif: the exon ends with G, and the intron begins with GT, followed by G at the
# fifth base.
#
# ## Look at one variant
#
# `explain_variant` shows what each base contributes to the score, for both alleles: the mean decrease of the log-odds
# if another base replaces it.

# %% alt="Two aligned sequences with letters whose height is their contribution to the donor score. In the reference, GTGAGT is tall. In the alternative, the first G is an A that points down, and the other letters of the motif are lower."
sl.infer.explain_variant(run, f"{contig}:151:G:A", "genome.fa", target="donor")

# %% [markdown]
# In the reference sequence, the bases of the motif GTGAGT raise the score. In the alternative sequence, the new A
# lowers the score. A deletion is shown as a gap. The method `to_html` of the result writes a page, and `to_svg` a file.

# %% alt="The same picture for the deletion of the T. The alternative sequence has a gap at the second base of the intron."
sl.infer.explain_variant(run, f"{contig}:151:GT:G", "genome.fa", target="donor")

# %% [markdown]
# Next: [Score variants](../how-to/variant-effects.md) explains insertions and deletions, strands, genes, outputs at each
# position, and records whose REF differs from the genome.

# %% tags=["check"]
if accuracy < 0.8:
    raise ValueError(f"accuracy {accuracy:.2f}, expected about 0.89")
if max(change[3:5]) > min(change[:2] + change[5:]):
    raise ValueError(f"changes {change}, expected the lowest at 151 and 152")
