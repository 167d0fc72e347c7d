//! What each stage costs over the agent corpus, beside a bare parse of the same texts.

use std::hint::black_box;
use std::io::{self, Write as _};

use benches::{Bare, compare};
use shellgate::Gate;
use shellgate::derive::derive;
use shellgate::derive::path::Known;
use shellgate::interpret::run_script;
use shellgate::judge::index::Index;
use shellgate::judge::{Scene, decide, hits};
use shellgate::load::builtin::data;
use shellgate::model::context::{Context, Limits};
use shellgate::parse::parse;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = benches::slice("benign/", "agent_")?;
    let (catalog, judgement) = data().ok_or("the built-in data cannot be read")?;
    let known = Known::new(&judgement.knowledge);
    let index = Index::new(&judgement.rules);
    let (context, limits) = (Context::default(), Limits::default());
    let parsed: Vec<_> = lines.iter().map(|line| parse(line, &limits)).collect();
    let traces: Vec<_> = lines
        .iter()
        .zip(&parsed)
        .map(|(line, parsed)| run_script(line, parsed, &context, &catalog, &limits))
        .collect();
    let facts: Vec<_> =
        traces.iter().map(|trace| derive(trace, &catalog, &context, &known)).collect();

    let mut bare = Bare::new()?;
    let mut out = io::stdout().lock();
    writeln!(out, "\n| stage | µs a command | times the bare parse |\n|---|---:|---:|")?;
    let mut stage = |name: &str, run: &mut dyn FnMut()| {
        let pair = compare(15, run, || {
            for line in &lines {
                black_box(bare.parse(line));
            }
        });
        let each = pair.ours.as_secs_f64() * 1e6 / lines.len().max(1) as f64;
        writeln!(out, "| {name} | {each:.1} | {:.2} |", pair.ratio())
    };
    stage("parse", &mut || {
        for line in &lines {
            drop(black_box(parse(line, &limits)));
        }
    })?;
    stage("interpret: expand, resolve", &mut || {
        for (line, parsed) in lines.iter().zip(&parsed) {
            drop(black_box(run_script(line, parsed, &context, &catalog, &limits)));
        }
    })?;
    stage("derive", &mut || {
        for trace in &traces {
            drop(black_box(derive(trace, &catalog, &context, &known)));
        }
    })?;
    stage("judge", &mut || {
        for (trace, facts) in traces.iter().zip(&facts) {
            let scene = Scene { trace, facts, catalog: &catalog, context: &context };
            let hits = hits(&judgement.rules, &index, &scene);
            drop(black_box(decide(&judgement.rules, &judgement.labels, &hits, &scene)));
        }
    })?;
    stage("all, by the gate", &mut || {
        for line in &lines {
            drop(black_box(Gate::builtin().classify(line, &context)));
        }
    })?;
    Ok(())
}
