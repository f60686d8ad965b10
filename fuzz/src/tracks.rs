//! Reads arbitrary bytes as bigWig files, and as text of tracks and of fragments.

use std::path::Path;
use std::sync::OnceLock;

use seqloom_core::Result;
use seqloom_tracks::{
    BigWigWriter, Bins, EndRules, Fragments, Missing, Reduction, Span, Track, fetch,
};

use crate::choices::Choices;
use crate::scratch;

/// The number of bases of both contigs.
const LENGTH: u32 = 5000;

/// Reads the bytes as text, or changes some bytes of a valid file.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    if choices.byte() % 4 == 0 {
        let rules = EndRules {
            shift: (4, -5),
            count_duplicates: choices.byte() % 2 == 0,
            drop_outside: choices.byte() % 2 == 0,
        };
        let text = choices.rest();
        let _ = count_ends(text, rules);
        return read_in_all_ways(text);
    }
    let mut file = valid_file().to_vec();
    for _ in 0..1 + choices.below(6) {
        let at = choices.below(file.len());
        file[at] = choices.byte();
    }
    if choices.byte() % 8 == 0 {
        file.truncate(choices.below(file.len()));
    }
    read_in_all_ways(&file);
}

fn count_ends(text: &[u8], rules: EndRules) -> Result<()> {
    let path = scratch::write("fragments", text);
    let contigs = vec![("c".to_owned(), LENGTH), ("d".to_owned(), LENGTH)];
    let _ = Fragments::open(&path, contigs.clone(), rules)?.sample(100)?;
    let mut fragments = Fragments::open(&path, contigs, rules)?;
    while let Some(ends) = fragments.next_contig()? {
        let counts = ends.into_counts();
        assert!(counts.stops.iter().all(|stop| *stop <= LENGTH));
    }
    Ok(())
}

fn valid_file() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let path = scratch::path("valid.bw");
        write(&path).expect("the file can be written");
        std::fs::read(&path).expect("the file can be read")
    })
}

fn write(path: &Path) -> Result<()> {
    let contigs = vec![("c".to_owned(), LENGTH), ("d".to_owned(), LENGTH)];
    let mut writer = BigWigWriter::create(path, contigs)?;
    for contig in 0..2 {
        let starts: Vec<u32> = (0..1200).map(|row| 4 * row).collect();
        let stops: Vec<u32> = starts.iter().map(|start| start + 1 + start % 3).collect();
        let values: Vec<f32> = starts.iter().map(|start| (start % 11) as f32).collect();
        writer.write(contig, &starts, &stops, &values)?;
    }
    writer.finish().map(|_| ())
}

fn read_in_all_ways(bytes: &[u8]) {
    let path = scratch::write("track", bytes);
    let Ok(track) = Track::open(&path) else {
        return;
    };
    let count = track.contigs().len().min(3);
    for contig in 0..count {
        let _ = track.entries(contig, 100, 4000);
    }
    let spans: Vec<Span> = [-10, 0, 700, 4900]
        .into_iter()
        .flat_map(|start| (0..count).map(move |contig| Span { contig, start }))
        .collect();
    let contigs = [(0..count).map(Some).collect()];
    let kinds = [
        (Reduction::Mean, Missing::Nan),
        (Reduction::Sum, Missing::Zero),
        (Reduction::Max, Missing::Error),
    ];
    for (width, (reduction, missing)) in [1, 7, 100].into_iter().zip(kinds) {
        let bins = Bins {
            count: 20,
            width,
            reduction,
            missing,
        };
        let mut out = vec![0.0; spans.len() * bins.count];
        let _ = fetch(&[&track], &contigs, &spans, &bins, &mut out, 1);
    }
}
