//! The text that `--help` prints.

/// The commands and their options.
pub(super) const HELP_TEXT: &str = "\
Scores of an exported model, without Python.

Usage: seqloom-run EXPORT FILES...            a table on standard output
       seqloom-run predict EXPORT FILES...    the same, with the options below
       seqloom-run inspect EXPORT             what the model reads and says
       seqloom-run bench EXPORT FILES...      how long a batch takes

EXPORT is a folder or a .zip that `seqloom export` wrote. FILES are FASTA or FASTQ, plain or
compressed, - for standard input, or a PLINK .bed with its .bim and .fam beside it. A model of
pairs takes two files for each: R1 R2.

Output
  --out FILE            the file to write, whole or not at all; - is standard output
  --format FORMAT       tsv, csv, jsonl or npz; otherwise by the end of FILE, or tsv
  --overwrite           replace FILE where it is there already
  --quiet               print results, warnings and errors alone

Sequences
  --interleaved         mates alternate in one file
  --quality SCALE       phred33 (usual), phred64 or solexa
  --comments WHAT       lines of FASTA that begin with ; or #: error (usual) or skip
  --whitespace WHAT     blanks among letters of FASTA: error (usual) or strip
  --ids WHAT            headers without a word: error (usual) or number

Machine
  --threads N           threads to use; otherwise SEQLOOM_NUM_THREADS, or all cores
  --memory SIZE         what records and arrays may take, such as 512M or 4G (usual)

  --help, --version

Exit codes: 0 done, 1 nobody reads the output any more, 2 bad input, 130 stopped by Ctrl-C,
128 + n stopped by signal n.
";
