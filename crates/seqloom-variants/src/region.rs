//! Regions of contigs that a caller requests.

use std::ops::Range;

use seqloom_core::error::{Error, Fault, Result};
use seqloom_core::number::as_u64;

use crate::numbers::parse_position;
use crate::report::shorten;
use crate::vcf::FixedColumns;

/// The maximum number of names in an error message.
const MAX_NAMES: usize = 10;
/// The start of the region of a whole contig, which includes records with POS 0.
const CONTIG_START: i64 = -1;

/// The requested regions: zero-based ranges by contig, sorted and without overlaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    contigs: Vec<(Vec<u8>, Vec<Range<i64>>)>,
}

impl Regions {
    /// Parses regions such as `chr1`, `chr1:5` and `chr1:1,000-2,000`; `names` are the
    /// contigs of the file.
    pub(crate) fn parse(texts: &[String], names: &[Vec<u8>]) -> Result<Self> {
        let mut regions = Self::default();
        for text in texts {
            let (name, range) = parse_region(text, names)?;
            match regions.contigs.iter_mut().find(|(known, _)| known == name) {
                Some((_, ranges)) => ranges.push(range),
                None => regions.contigs.push((name.clone(), vec![range])),
            }
        }
        for (_, ranges) in &mut regions.contigs {
            merge_ranges(ranges);
        }
        Ok(regions)
    }

    /// Returns the ranges of a contig, or `None` if no region of the contig is requested.
    pub(crate) fn ranges(&self, name: &[u8]) -> Option<&[Range<i64>]> {
        let mut contigs = self.contigs.iter();
        let contig = contigs.find(|(known, _)| known == name);
        contig.map(|(_, ranges)| ranges.as_slice())
    }
}

/// Returns true if a range overlaps one of the sorted ranges.
pub(crate) fn overlaps(ranges: &[Range<i64>], range: &Range<i64>) -> bool {
    let next = ranges.partition_point(|it| it.end <= range.start);
    ranges.get(next).is_some_and(|it| it.start < range.end)
}

fn merge_ranges(ranges: &mut Vec<Range<i64>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let is_joined = next.start <= last.end;
        if is_joined {
            last.end = last.end.max(next.end);
        }
        is_joined
    });
}

fn parse_region<'a>(text: &str, names: &'a [Vec<u8>]) -> Result<(&'a Vec<u8>, Range<i64>)> {
    let find = |name: &str| {
        names
            .iter()
            .find(|known| known.as_slice() == name.as_bytes())
    };
    // The name of a contig may have colons.
    if let Some(name) = find(text) {
        return Ok((name, CONTIG_START..i64::MAX));
    }
    let (contig, range) = text.rsplit_once(':').unwrap_or((text, ""));
    let Some(name) = find(contig) else {
        return Err(unknown_contig(text, names));
    };
    let range = parse_range(range).ok_or_else(|| {
        Error::argument(format!(
            "region: {text:?} is not a region; write a contig, CONTIG:POSITION or \
             CONTIG:START-END; positions begin at 1, and START is at most END"
        ))
    })?;
    Ok((name, range))
}

/// Parses `1,000`, `1,000-2,000` or `1,000-` into a zero-based range.
fn parse_range(text: &str) -> Option<Range<i64>> {
    let position = |text: &str| parse_position(text.replace(',', "").as_bytes());
    let (start, end) = match text.split_once('-') {
        None => (position(text)?, position(text)?),
        Some((start, "")) => (position(start)?, i64::MAX),
        Some((start, end)) => (position(start)?, position(end)?),
    };
    (1 <= start && start <= end).then_some(start - 1..end)
}

fn unknown_contig(text: &str, names: &[Vec<u8>]) -> Error {
    let shown = names.iter().take(MAX_NAMES);
    let shown: Vec<_> = shown.map(|name| String::from_utf8_lossy(name)).collect();
    let rest = names.len().saturating_sub(MAX_NAMES);
    let more = match rest {
        0 => String::new(),
        _ => format!(" and {rest} more"),
    };
    Error::argument(format!(
        "region: {text:?} is not in the file, whose contigs are {}{more}",
        shown.join(", ")
    ))
}

/// Returns whether a record overlaps a region. A record with an invalid position does, so
/// that the parser reports it.
pub(crate) fn is_in_region(
    fixed: &FixedColumns<'_>,
    regions: &Regions,
) -> std::result::Result<bool, Fault> {
    let Some(ranges) = regions.ranges(fixed.chrom) else {
        return Err(other_contig(fixed.chrom));
    };
    Ok(parse_position(fixed.position).is_none_or(|position| {
        let start = position - 1;
        let end = reference_end(start, fixed.reference, fixed.info);
        overlaps(ranges, &(start..end))
    }))
}

/// Returns the error for a record that the index assigns to another contig.
pub(crate) fn other_contig(name: &[u8]) -> Fault {
    Fault::of_file(format!(
        "the file does not match its index, which lists a record of {:?} under another contig; \
         create the index again (bcftools index --force)",
        shorten(name)
    ))
}

/// Returns the end of the reference range of a record: INFO/END if it is after the start,
/// and otherwise the end of REF.
pub(crate) fn reference_end(start: i64, reference: &[u8], info: &[u8]) -> i64 {
    let size = i64::try_from(as_u64(reference.len())).unwrap_or(i64::MAX);
    let mut entries = info.split(|byte| *byte == b';');
    let stated = entries.find_map(|entry| entry.strip_prefix(b"END="));
    let stated = stated.and_then(parse_position).filter(|end| *end > start);
    stated.unwrap_or_else(|| start.saturating_add(size.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Range<i64>> {
        let names = [b"chr1".to_vec(), b"HLA:1".to_vec(), b"HLA".to_vec()];
        parse_region(text, &names).map(|(_, range)| range)
    }

    #[test]
    fn a_region_has_one_based_inclusive_positions() {
        assert_eq!(parse("chr1:1,000-2,000").unwrap(), 999..2000);
        assert_eq!(parse("chr1:5").unwrap(), 4..5);
        assert_eq!(parse("chr1:5-").unwrap(), 4..i64::MAX);
    }

    #[test]
    fn the_name_of_a_contig_may_end_like_a_region() {
        assert_eq!(parse("HLA:1").unwrap(), CONTIG_START..i64::MAX);
        assert_eq!(parse("HLA:1:1").unwrap(), 0..1);
        assert_eq!(parse("HLA:2").unwrap(), 1..2);
    }

    #[test]
    fn text_that_is_not_a_region_is_refused() {
        for text in [
            "chr1:",
            "chr1:0",
            "chr1:5-4",
            "chr1:-5",
            "chr1:a",
            "chr1:1-2-3",
            "chr2",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_that_touch_are_merged() {
        let mut ranges = vec![5..9, 0..2, 2..3, 7..8, 9..10, 20..30];
        merge_ranges(&mut ranges);
        assert_eq!(ranges, [0..3, 5..10, 20..30]);
        assert!(overlaps(&ranges, &(9..12)));
        assert!(!overlaps(&ranges, &(10..20)));
    }
}
