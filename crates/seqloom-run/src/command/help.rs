//! The text that `--help` prints.

/// The commands and their options.
pub(super) const HELP_TEXT: &str = "\
Scores files with an exported model, without Python.

Usage: seqloom-run EXPORT FILES...            print a table of scores
       seqloom-run predict EXPORT FILES...    the same, with the options below
       seqloom-run inspect EXPORT             print the inputs and outputs of the model
       seqloom-run bench EXPORT FILES...      print the time of a batch

EXPORT is a folder or a .zip that `seqloom export` wrote. FILES are FASTA or FASTQ, plain or
compressed, - for standard input, or a PLINK .bed with its .bim and .fam in the same folder. A
model of pairs needs two files for each sample: R1 R2.

Output
  --out FILE            output file, which is complete or absent; - is standard output
  --format FORMAT       tsv, csv, jsonl or npz (default: the extension of FILE, or tsv)
  --overwrite           replace FILE if it exists
  --quiet               print only results, warnings and errors

Sequences
  --interleaved         mates alternate in one file
  --quality SCALE       phred33 (default), phred64 or solexa
  --comments ACTION     FASTA lines that begin with ; or #: error (default) or skip
  --whitespace ACTION   blanks in FASTA sequences: error (default) or strip
  --ids ACTION          headers without an id: error (default) or number

Machine
  --threads N           number of threads (default: SEQLOOM_NUM_THREADS, or all cores)
  --memory SIZE         limit for records and arrays, such as 512M or 4G (default)

  --help, --version

Exit codes: 0 success, 1 the reader of the output has closed it, 2 invalid input, 130 stopped
by Ctrl-C, 128 + n stopped by signal n.
";
