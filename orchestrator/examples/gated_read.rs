//! What judging and recording add to a `read_file` call: `gated_read ROUNDS` prints the medians of both, alone and
//! gated, as one line of JSON in milliseconds.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use shellgate_orchestrator::advisor::Advisor;
use shellgate_orchestrator::guard::{Guard, Judged, Ruling};
use shellgate_orchestrator::host::memory::Memory;
use shellgate_orchestrator::host::records::DecisionLog;
use shellgate_orchestrator::task::call::{ToolCall, ToolName};
use shellgate_orchestrator::task::port::Records as _;
use shellgate_orchestrator::tool::{ToolOptions, Toolbox, Workspace, project};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2000);
    let root = std::env::temp_dir().join(format!("shellgate-read-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("a.txt"), "alpha\nbeta\ngamma\n")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(measure(root.clone(), rounds));
    std::fs::remove_dir_all(root)?;
    let (alone, gated) = measured?;
    let line = json!({ "alone_ms": alone, "gated_ms": gated, "added_ms": gated - alone });
    writeln!(std::io::stdout().lock(), "{line}")?;
    Ok(())
}

/// Medians in milliseconds: the tool alone, and with judge and decision log.
async fn measure(root: PathBuf, rounds: usize) -> Result<(f64, f64), Failure> {
    let workspace = Arc::new(Workspace::open(std::slice::from_ref(&root))?);
    let project = Arc::new(project::read(&workspace).0);
    let options = ToolOptions::of_this_process();
    let toolbox = Toolbox::new(Arc::clone(&workspace), Arc::clone(&project), &options);
    let advisor = Arc::new(Advisor::new("a salt of sixteen letters"));
    let guard = Arc::new(Guard::new(advisor, Arc::new(Memory::default()), String::new()));
    let place = workspace.place().clone();
    let guard = guard.open("t".to_owned(), place, project, Arc::new(toolbox.clone()));
    let records = DecisionLog::new(Some(root), |_| {}, |_| {});
    let mut args = serde_json::Map::new();
    args.insert("path".to_owned(), "a.txt".into());
    let call = ToolCall { id: "c".to_owned(), tool: ToolName::ReadFile, args };
    let never = CancellationToken::new();
    let judge = async || {
        let Judged { ruling, records: told } = guard.judge(call.clone(), &never).await;
        for one in &told {
            records.append(one).await;
        }
        match ruling {
            Ruling::Run(cleared) => Ok(cleared),
            other => Err(format!("a plain read asks: {other:?}")),
        }
    };
    let (mut alone, mut gated) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let cleared = judge().await?;
        let begin = Instant::now();
        toolbox.run(cleared, &never).await;
        alone.push(begin.elapsed().as_secs_f64() * 1000.0);
        let begin = Instant::now();
        let cleared = judge().await?;
        toolbox.run(cleared, &never).await;
        gated.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    Ok((median(alone), median(gated)))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
