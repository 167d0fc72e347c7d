//! Many commands of one session: `cargo run -p shellgate --example batch < commands.txt`.
//!
//! One command on a line. A session moves: where a `cd` surely leads is where the next command runs.
//! Ends with how often each decision was given.

use std::io::{self, BufRead as _, Write as _};

use shellgate::Gate;
use shellgate::model::context::Context;
use shellgate::model::verdict::Decision;

fn main() -> io::Result<()> {
    let mut session = Gate::builtin().session();
    let mut context = Context::default();
    let mut counts = [0_usize; 4];
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let command = line?;
        if command.trim().is_empty() {
            continue;
        }
        let verdict = session.classify(&command, &context);
        if let Some(count) = counts.get_mut(verdict.decision as usize) {
            *count += 1;
        }
        writeln!(out, "{:5} {}  {command}", verdict.decision.name(), context.cwd)?;
        // What was refused did not run, so that it moved nothing.
        if verdict.decision < Decision::Ask
            && let Some(directory) = moved(&command, &context)
        {
            context.cwd = directory;
        }
    }
    for (decision, count) in
        [Decision::Allow, Decision::Pass, Decision::Ask, Decision::Deny].iter().zip(counts)
    {
        writeln!(out, "{count:6} {}", decision.name())?;
    }
    out.flush()
}

/// Where a plain `cd DIRECTORY` leads; none for anything else.
fn moved(command: &str, context: &Context) -> Option<String> {
    let explanation = Gate::builtin().explain(command, context);
    let [invocation] = explanation.invocations().try_into().ok()?;
    let [name, directory] =
        invocation.argv.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()?;
    (name == "cd" && invocation.exact).then_some(())?;
    let joined =
        if directory.starts_with('/') { directory } else { format!("{}/{directory}", context.cwd) };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}
