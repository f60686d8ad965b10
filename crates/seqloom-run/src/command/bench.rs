//! The `bench` command, which measures the time for scoring files.

use std::time::{Duration, Instant};

use seqloom_run::{PredictionObserver, Result, Scores, format_thousands};

use super::arguments::CommandLine;

/// Scores files, reports the time, and discards the scores.
pub(super) fn measure_scoring(arguments: &CommandLine) -> Result<String> {
    let begun = Instant::now();
    let model = arguments.open_model()?;
    let opened = begun.elapsed();
    let mut times = GraphTimes::default();
    let begun = Instant::now();
    let summary = model.predict_observed(&arguments.files, &arguments.options, &mut times)?;
    let whole = begun.elapsed();
    let graph: Duration = times.0.iter().sum();
    times.0.sort();
    let median = times.0.get(times.0.len() / 2).copied().unwrap_or_default();
    let (least, most) = (times.0.first(), times.0.last());
    Ok(format!(
        "opened      {}\n\
         scored      {} {} in {}, {} batches, {} threads\n\
         speed       {:.0} {}/s\n\
         a batch     {} (median; {} to {})\n\
         graph       {:.0} % of the time\n",
        format_duration(opened),
        format_thousands(summary.records),
        model.noun(),
        format_duration(whole),
        format_thousands(summary.batches),
        arguments.threads,
        records_per_second(summary.records, whole),
        model.noun(),
        format_duration(median),
        format_duration(least.copied().unwrap_or_default()),
        format_duration(most.copied().unwrap_or_default()),
        100.0 * graph.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE),
    ))
}

/// An observer that stores the time in which the graph computes each batch.
#[derive(Default)]
struct GraphTimes(Vec<Duration>);

impl PredictionObserver for GraphTimes {
    fn scores(&mut self, _: &[String], _: &Scores) -> Result<()> {
        Ok(())
    }

    fn batch(&mut self, _: (u64, u64), graph: Duration) -> Result<()> {
        self.0.push(graph);
        Ok(())
    }
}

fn format_duration(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "a speed for display")]
fn records_per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
}
