//! Recognises files of other formats by their content, and suggests a conversion.

use seqloom_core::error::FaultCause;

/// The purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPurpose {
    /// The file should contain sequences.
    Sequences,
    /// The file should contain genomic intervals.
    Intervals,
    /// The file should be a table of labels, phenotypes or covariates.
    Table,
}

/// A file format that is not supported for at least one purpose.
pub(super) struct Content {
    name: &'static str,
    /// The advice for each purpose, such as a command that converts the file. The
    /// advice may be empty.
    sequences: &'static str,
    intervals: &'static str,
    table: &'static str,
}

impl Content {
    const fn new(name: &'static str, advice: [&'static str; 3]) -> Self {
        let [sequences, intervals, table] = advice;
        Self {
            name,
            sequences,
            intervals,
            table,
        }
    }

    /// Returns the cause of the error if the file contains PLINK genotypes, because
    /// other functions read these files.
    pub(super) fn cause(&self) -> Option<FaultCause> {
        std::ptr::eq(self, &raw const PLINK).then_some(FaultCause::Genotypes)
    }

    /// Returns the name of the format, and the advice for a purpose.
    pub(super) fn describe(&self, purpose: ReadPurpose) -> String {
        let advice = match purpose {
            ReadPurpose::Sequences => self.sequences,
            ReadPurpose::Intervals => self.intervals,
            ReadPurpose::Table => self.table,
        };
        match advice {
            "" => self.name.into(),
            advice => format!("{}: {advice}", self.name),
        }
    }
}

/// Describes the format of a file from its beginning. Returns `None` if the file may be
/// a table or contain intervals.
pub fn describe_unsupported(start: &[u8], purpose: ReadPurpose) -> Option<String> {
    // UTF-16 text, with or without a byte order mark, is reported by the table readers.
    if matches!(start, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) {
        return None;
    }
    let text = super::skip_blank(start);
    let is_fasta = text.starts_with(b">");
    let content =
        detect_content(text).or((is_fasta && purpose != ReadPurpose::Sequences).then_some(&FASTA));
    content.map(|content| content.describe(purpose))
}

/// Recognises a file by its first bytes or lines.
pub(super) fn detect_content(start: &[u8]) -> Option<&'static Content> {
    let is_tar = !start.starts_with(b"@") && start.get(257..262) == Some(b"ustar");
    detect_by_magic_number(start)
        .or(is_tar.then_some(&TAR))
        .or_else(|| detect_by_first_words(start))
        .or_else(|| detect_by_columns(start))
}

const SPREADSHEET_ADVICE: [&str; 3] = [
    "save the sequences as FASTA; in Python, a data frame (pandas.read_excel) also works",
    "save the sheet as CSV",
    "save the sheet as CSV",
];
const PGEN_ADVICE: [&str; 3] = [
    "convert it: plink2 --pfile NAME --make-bed --out NEW",
    "these are genotypes; expected positions as BED",
    "",
];

static FASTA: Content = Content::new(
    "FASTA (sequences)",
    [
        "",
        "pass the genome as the other argument",
        "pass it as the file of sequences",
    ],
);
static TAR: Content = Content::new("a tar archive", ["unpack it first"; 3]);
static ZIP: Content = Content::new("a zip archive", ["unpack it first"; 3]);
static NPZ: Content = Content::new("a NumPy archive (.npz)", [""; 3]);
static EXCEL: Content = Content::new("an Excel workbook (.xlsx)", SPREADSHEET_ADVICE);
static SPREADSHEET: Content = Content::new("an OpenDocument spreadsheet", SPREADSHEET_ADVICE);
static PGEN: Content = Content::new("PLINK 2 genotypes (.pgen)", PGEN_ADVICE);
static BGEN: Content = Content::new(
    "BGEN genotypes",
    [
        "convert it: plink2 --bgen FILE ref-first --sample NAME.sample --make-bed --out NEW",
        "these are genotypes; expected positions as BED",
        "",
    ],
);
static PLINK: Content = Content::new("PLINK .bed genotypes", [""; 3]);
static VCF: Content = Content::new(
    "VCF (variants)",
    [
        "convert it to genotypes: plink2 --vcf FILE --make-bed --out NEW",
        r"convert it: bcftools query -f '%CHROM\t%POS0\t%END\n' FILE > NEW.bed",
        "convert it to genotypes: plink2 --vcf FILE --make-bed --out NEW",
    ],
);
static GFF: Content = Content::new(
    "GFF or GTF (annotation)",
    [
        "convert it to BED; pass the genome, and the BED as its intervals",
        r#"convert it: awk -F'\t' -v OFS='\t' '$3 == "gene" {print $1, $4 - 1, $5, $3, ".", $7}' FILE > NEW.bed"#,
        "",
    ],
);
static SAM: Content = Content::new(
    "SAM (alignments)",
    [
        "convert it: samtools fastq FILE > NEW.fastq",
        "convert it: samtools view -b FILE | bedtools bamtobed -i - > NEW.bed",
        "",
    ],
);
static INTERVAL_LIST: Content = Content::new(
    "a Picard interval list",
    [
        "convert it to BED; pass the genome, and the BED as its intervals",
        r#"convert it: awk -F'\t' -v OFS='\t' '!/^@/ {print $1, $2 - 1, $3, $5, ".", $4}' FILE > NEW.bed"#,
        "",
    ],
);
static UNIPROT: Content = Content::new(
    "a UniProt flat file",
    [
        r#"convert it to FASTA: python -c "from Bio import SeqIO; SeqIO.convert('FILE', 'swiss', 'NEW.fa', 'fasta')""#,
        "",
        "",
    ],
);
static EMBL: Content = Content::new(
    "an EMBL or UniProt flat file",
    [
        r#"convert it to FASTA: python -c "from Bio import SeqIO; SeqIO.convert('FILE', 'embl', 'NEW.fa', 'fasta')""#,
        "",
        "",
    ],
);
static GENBANK: Content = Content::new(
    "a GenBank flat file",
    [
        r#"convert it to FASTA: python -c "from Bio import SeqIO; SeqIO.convert('FILE', 'genbank', 'NEW.fa', 'fasta')""#,
        "",
        "",
    ],
);

const RECOMPRESSED: &str = "compressed twice?";
const UTF8_ADVICE: [&str; 3] = ["save it as UTF-8"; 3];
/// The first bytes of other file formats.
static MAGIC_NUMBERS: [(&[u8], Content); 30] = [
    (b"\x1F\x8B", Content::new("gzip data", [RECOMPRESSED; 3])),
    (
        b"\xFD7zXZ\0",
        Content::new(
            "xz data",
            [
                RECOMPRESSED,
                "unpack it first (xz -d)",
                "unpack it first (xz -d)",
            ],
        ),
    ),
    (
        b"\x28\xB5\x2F\xFD",
        Content::new(
            "zstd data",
            [
                RECOMPRESSED,
                "unpack it first (zstd -d)",
                "unpack it first (zstd -d)",
            ],
        ),
    ),
    (
        b"BZh91AY",
        Content::new(
            "bzip2 data",
            [
                RECOMPRESSED,
                "unpack it first (bzip2 -d)",
                "unpack it first (bzip2 -d)",
            ],
        ),
    ),
    (
        b"\x04\x22\x4D\x18",
        Content::new("lz4 data", ["unpack it first (lz4 -d)"; 3]),
    ),
    (
        b"7z\xBC\xAF\x27\x1C",
        Content::new("a 7z archive", ["unpack it first"; 3]),
    ),
    (b"PK\x05\x06", Content::new("an empty zip archive", [""; 3])),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        Content::new("an Excel workbook (.xls)", SPREADSHEET_ADVICE),
    ),
    (b"\x89PNG\r\n\x1A\n", Content::new("a PNG image", [""; 3])),
    (b"\xFF\xD8\xFF", Content::new("a JPEG image", [""; 3])),
    (b"GIF89a", Content::new("a GIF image", [""; 3])),
    (b"%PDF", Content::new("a PDF document", [""; 3])),
    (
        b"\x89HDF\r\n\x1A\n",
        Content::new(
            "an HDF5 file",
            [
                "",
                "",
                "for AnnData, save the table in Python: anndata.read_h5ad(FILE).obs.to_csv(NEW)",
            ],
        ),
    ),
    (
        b"PAR1\x15",
        Content::new(
            "a Parquet file",
            [
                "in Python, pass the data frame (pandas.read_parquet)",
                "save it as CSV, or pass the data frame in Python",
                "",
            ],
        ),
    ),
    (
        b"ARROW1\0",
        Content::new(
            "an Arrow file",
            ["in Python, pass the data frame (pandas.read_feather)"; 3],
        ),
    ),
    (b"\x93NUMPY", Content::new("a NumPy array", [""; 3])),
    (
        b"SQLite format 3\0",
        Content::new("an SQLite database", [""; 3]),
    ),
    (b"\x7FELF", Content::new("a program or library", [""; 3])),
    (
        b"BAM\x01",
        Content::new(
            "BAM (alignments)",
            [
                "convert it: samtools fastq FILE > NEW.fastq",
                "convert it: bedtools bamtobed -i FILE > NEW.bed",
                "",
            ],
        ),
    ),
    (
        b"CRAM\x03",
        Content::new(
            "CRAM (alignments)",
            [
                "convert it: samtools fastq --reference GENOME.fa FILE > NEW.fastq",
                "convert it: samtools view -b -T GENOME.fa FILE | bedtools bamtobed -i - > NEW.bed",
                "",
            ],
        ),
    ),
    (
        b"BCF\x02",
        Content::new(
            "BCF (variants)",
            [
                "convert it to genotypes: plink2 --bcf FILE --make-bed --out NEW",
                r"convert it: bcftools query -f '%CHROM\t%POS0\t%END\n' FILE > NEW.bed",
                "convert it to genotypes: plink2 --bcf FILE --make-bed --out NEW",
            ],
        ),
    ),
    (
        b"\x43\x27\x41\x1A",
        Content::new(
            "a 2bit genome",
            ["convert it: twoBitToFa FILE NEW.fa", "", ""],
        ),
    ),
    (
        b"\x1A\x41\x27\x43",
        Content::new(
            "a 2bit genome",
            ["convert it: twoBitToFa FILE NEW.fa", "", ""],
        ),
    ),
    (
        b"\x26\xFC\x8F\x88",
        Content::new(
            "bigWig (a signal along a genome)",
            ["", "convert it: bigWigToBedGraph FILE NEW.bedGraph", ""],
        ),
    ),
    (
        b"\xEB\xF2\x89\x87",
        Content::new(
            "bigBed intervals",
            [
                "convert it to BED; pass the genome, and the BED as its intervals",
                "convert it: bigBedToBed FILE NEW.bed",
                "",
            ],
        ),
    ),
    (b"\xFF\xFE", Content::new("UTF-16 text", UTF8_ADVICE)),
    (b"\xFE\xFF", Content::new("UTF-16 text", UTF8_ADVICE)),
    (b"\x80\x04", Content::new("a Python pickle", [""; 3])),
    (b"RDX3\n", Content::new("R data", [""; 3])),
    (b"X\n\0\0\0", Content::new("R data", [""; 3])),
];

/// Recognises a binary file by its first bytes.
fn detect_by_magic_number(start: &[u8]) -> Option<&'static Content> {
    if start.starts_with(b"PK\x03\x04") {
        return Some(detect_by_archive_entry(start));
    }
    if let [0x6C, 0x1B, mode, ..] = start {
        return Some(if *mode <= 1 { &PLINK } else { &PGEN });
    }
    if start.starts_with(b"\x6C\x1B") {
        return Some(&PLINK);
    }
    // A BGEN file begins with an offset below 16 MiB and three counts, followed by the
    // magic number.
    if start.get(3) == Some(&0) && start.get(16..20) == Some(b"bgen") {
        return Some(&BGEN);
    }
    let entry = MAGIC_NUMBERS
        .iter()
        .find(|(magic, _)| start.starts_with(magic));
    entry.map(|(_, content)| content)
}

/// Recognises the content of a zip archive by the names of its members.
fn detect_by_archive_entry(start: &[u8]) -> &'static Content {
    let name = start.get(30..).unwrap_or_default();
    let begins = |word: &[u8]| name.starts_with(word);
    let has = |word: &[u8]| start.windows(word.len()).any(|part| part == word);
    if begins(b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet") {
        &SPREADSHEET
    } else if begins(b"xl/")
        || (begins(b"[Content_Types].xml") && !has(b"word/"))
        || begins(b"docProps/")
    {
        &EXCEL
    } else if has(b".npy") {
        &NPZ
    } else {
        &ZIP
    }
}

/// Recognises a text file by its first words.
fn detect_by_first_words(start: &[u8]) -> Option<&'static Content> {
    const TO_FASTA: [&str; 3] = ["convert it to FASTA", "", ""];
    static FIRST_WORDS: [(&[u8], Content); 7] = [
        (b"#NEXUS", Content::new("a NEXUS file", TO_FASTA)),
        (b"CLUSTAL", Content::new("a Clustal alignment", TO_FASTA)),
        (
            b"# STOCKHOLM",
            Content::new("a Stockholm alignment", TO_FASTA),
        ),
        (
            b"<!DOCTYPE HTML",
            Content::new("an HTML page", ["a failed download?"; 3]),
        ),
        (
            b"<HTML",
            Content::new("an HTML page", ["a failed download?"; 3]),
        ),
        (b"<?XML", Content::new("XML", [""; 3])),
        (b"<!DOCTYPE", Content::new("XML", [""; 3])),
    ];
    let begins = |word: &[u8]| {
        let found = start.get(..word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    if begins(b"##FILEFORMAT=VCF") || begins(b"#CHROM\tPOS\tID\tREF\tALT") {
        return Some(&VCF);
    }
    if begins(b"##GFF") {
        return Some(&GFF);
    }
    let entry = FIRST_WORDS.iter().find(|(word, _)| begins(word));
    entry.map(|(_, content)| content)
}

/// Recognises a text file by the columns of its first lines.
fn detect_by_columns(start: &[u8]) -> Option<&'static Content> {
    let mut lines = start
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.clone().next().unwrap_or_default();
    if first.starts_with(b"LOCUS ") && (has_word(first, b"bp") || has_word(first, b"aa")) {
        return Some(&GENBANK);
    }
    if first.starts_with(b"ID   ") && first.contains(&b';') && first.ends_with(b".") {
        let is_protein = first.ends_with(b" AA.");
        return Some(if is_protein { &UNIPROT } else { &EMBL });
    }
    if [&b"@HD\t"[..], b"@SQ\t", b"@RG\t", b"@PG\t"]
        .iter()
        .any(|tag| first.starts_with(tag))
    {
        let row = lines.find(|line| !line.starts_with(b"@"));
        let is_list = row.is_some_and(is_list_row);
        return Some(if is_list { &INTERVAL_LIST } else { &SAM });
    }
    let row = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))?;
    let fields: Vec<&[u8]> = row.split(|byte| *byte == b'\t').collect();
    if is_annotation(&fields) {
        Some(&GFF)
    } else if is_variant(&fields) {
        Some(&VCF)
    } else {
        None
    }
}

fn has_word(line: &[u8], word: &[u8]) -> bool {
    line.split(u8::is_ascii_whitespace).any(|part| part == word)
}

fn parse_number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Returns true if a line is from a Picard interval list: chrom, start, end, strand,
/// name.
fn is_list_row(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    matches!(fields[..], [_, start, end, b"+" | b"-", _]
        if parse_number(start).is_some() && parse_number(end).is_some())
}

/// Returns true if fields are from GFF: sequence, source, type, start, end, score,
/// strand, phase, ...
fn is_annotation(fields: &[&[u8]]) -> bool {
    let [_, _, _, start, end, _, strand, phase, _] = fields else {
        return false;
    };
    let is_range = matches!((parse_number(start), parse_number(end)), (Some(start), Some(end)) if start <= end);
    let has_strand = matches!(*strand, b"+" | b"-" | b"." | b"?");
    is_range && has_strand && matches!(*phase, b"0" | b"1" | b"2" | b".")
}

/// Returns true if fields are from VCF: chromosome, position, id, reference and other
/// alleles, ...
fn is_variant(fields: &[&[u8]]) -> bool {
    let [_, position, _, reference, others, _, _, _, ..] = fields else {
        return false;
    };
    let is_bases = |allele: &[u8]| {
        let is_base =
            |byte: &u8| matches!(byte.to_ascii_uppercase(), b'A' | b'C' | b'G' | b'T' | b'N');
        !allele.is_empty() && allele.iter().all(is_base)
    };
    let is_other = |allele: &[u8]| {
        let is_symbol =
            allele.starts_with(b"<") || allele.iter().any(|byte| matches!(byte, b'[' | b']'));
        is_bases(allele) || is_symbol || matches!(allele, b"*" | b".")
    };
    let has_others = others.split(|byte| *byte == b',').all(is_other);
    parse_number(position).is_some() && is_bases(reference) && has_others
}
