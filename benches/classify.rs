//! What a verdict costs, and how often a bare parse of the same text fits into it.
//!
//! Criterion measures each group; behind it a table gives the ratios, both sides measured in turn
//! in the same run.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use benches::{Bare, SHAPES, compare, slice, tell};
use criterion::{Criterion, Throughput};
use shellgate::Gate;
use shellgate::model::context::Context;

/// A script of two kilobytes with loops, functions and here-documents.
const SCRIPT: &str = include_str!("script.sh");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let slices = slices()?;
    let gate = Gate::builtin();
    let context = Context::default();
    let mut bare = Bare::new()?;

    let mut criterion = Criterion::default()
        .configure_from_args()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    for (name, lines) in &slices {
        let mut group = criterion.benchmark_group(format!("classify/{name}"));
        group.throughput(Throughput::Elements(lines.len() as u64));
        group.bench_function("verdict", |bencher| {
            bencher.iter(|| lines.iter().map(|line| judge(gate, &context, line)).sum::<usize>());
        });
        group.bench_function("bare_parse", |bencher| {
            bencher.iter(|| lines.iter().map(|line| bare.parse(black_box(line))).sum::<usize>());
        });
        group.finish();
    }
    criterion.final_summary();
    table(&slices, gate, &context, &mut bare)?;
    Ok(())
}

fn judge(gate: &Gate, context: &Context, line: &str) -> usize {
    gate.classify(black_box(line), context).labels.len()
}

/// Lines to judge, by the name of their slice.
fn slices() -> Result<Vec<(&'static str, Vec<String>)>, String> {
    Ok(vec![
        ("plain", vec!["ls -la src".to_owned()]),
        ("agent", slice("benign/", "agent_")?),
        ("risky", slice("risky/", "")?),
        ("evasion", slice("evasion/", "")?),
        ("script", vec![SCRIPT.to_owned()]),
    ])
}

fn table(
    slices: &[(&'static str, Vec<String>)],
    gate: &Gate,
    context: &Context,
    bare: &mut Bare,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut table = String::from(
        "| input | commands | verdict, µs each | bare parse, µs each | ratio | worst verdict, µs | its bare parse, µs |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    for (name, lines) in slices {
        let pair = compare(
            15,
            || {
                for line in lines {
                    black_box(judge(gate, context, line));
                }
            },
            || {
                for line in lines {
                    black_box(bare.parse(line));
                }
            },
        );
        let each = |time: Duration| micros(time) / lines.len().max(1) as f64;
        let one = |line: &String| {
            compare(
                5,
                || {
                    black_box(judge(gate, context, line));
                },
                || {
                    black_box(bare.parse(line));
                },
            )
        };
        let worst = lines.iter().map(one).max_by_key(|pair| pair.ours).unwrap_or(pair);
        writeln!(
            table,
            "| {name} | {} | {:.1} | {:.1} | {:.2} | {:.0} | {:.0} |",
            lines.len(),
            each(pair.ours),
            each(pair.bare),
            pair.ratio(),
            micros(worst.ours),
            micros(worst.bare),
        )?;
    }
    tell("classify", &table)?;
    let mut table = String::from(
        "| shape | 1 KiB, ns/byte | 10 KiB | 100 KiB | 1 MiB |\n|---|---:|---:|---:|---:|\n",
    );
    for (name, shape) in SHAPES {
        write!(table, "| {name} ")?;
        for size in [1 << 10, 10 << 10, 100 << 10, 1 << 20] {
            let text = shape(size);
            let ours = || {
                black_box(judge(gate, context, &text));
            };
            let pair = compare(3, ours, || ());
            write!(table, "| {:.0} ", pair.ours.as_secs_f64() * 1e9 / text.len().max(1) as f64)?;
        }
        writeln!(table, "|")?;
    }
    Ok(tell("classify/size", &table)?)
}
