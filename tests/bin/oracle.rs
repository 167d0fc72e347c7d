//! Holds the gate against bash: `oracle --seed S --count N`.

use std::process::ExitCode;

use shellgate::Gate;
use shellgate::model::context::{Context, Shell};
use suite::bash::{Counts, Sandbox, say};
#[cfg(feature = "broken-rules")]
use suite::campaign::Find;
use suite::campaign::{Plan, Structure, corpus, run, structures};
use suite::generate::{Class, candidate};
use suite::law::{Law, judge};
use suite::ledger::Ledger;

const USAGE: &str = "usage: oracle [--seed S] [--count N] [--class words|script|disguise|mutation|gap] [--no-shrink] [--inexact] [--record]
       oracle --shell bash|dash|zsh|ash ...    another judge, for a campaign or one command
       oracle --one COMMAND    what bash and the gate make of one command
       oracle --structure ...  the structure law alone on the candidates of a campaign
       oracle --corpus         the structure law on every line of the corpus
       oracle --scripts        the structure law on the scripts of this machine's packages
       oracle --report         writes docs/oracle.md out of tests/oracle.toml
       oracle --break RULE|all [--count N]    with the feature broken-rules: how soon a broken rule is found";

fn main() -> ExitCode {
    match work(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&error);
            ExitCode::from(2)
        }
    }
}

fn work(arguments: &[String]) -> Result<bool, String> {
    let mut plan = Plan {
        shell: Shell::Unknown,
        seed: 1,
        count: 20_000,
        corpus: corpus(),
        shrink: true,
        class: None,
        first: false,
        aloud: true,
    };
    let mut words = arguments.iter();
    let mut one = None;
    let mut lines = false;
    let mut alone = false;
    let mut inexact = false;
    let mut broken = None;
    let mut machine = false;
    let mut record = false;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| USAGE.to_owned());
        match word.as_str() {
            "--seed" => plan.seed = value()?.parse().map_err(|_| USAGE.to_owned())?,
            "--count" => plan.count = value()?.parse().map_err(|_| USAGE.to_owned())?,
            "--shell" => {
                plan.shell = Shell::from_name(value()?).ok_or_else(|| USAGE.to_owned())?;
            }
            "--class" => {
                let name = value()?;
                plan.class = Class::ALL.into_iter().find(|class| class.name() == name);
            }
            "--inexact" => inexact = true,
            "--no-shrink" => plan.shrink = false,
            "--one" => one = Some(value()?.clone()),
            "--corpus" => lines = true,
            "--structure" => alone = true,
            "--scripts" => machine = true,
            "--record" => record = true,
            "--report" => {
                let ledger = Ledger::load()?;
                ledger.save()?;
                return Ok(true);
            }
            "--break" => broken = Some(value()?.clone()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let sandbox = Sandbox::open().map_err(|error| error.to_string())?;
    if machine {
        return scripts(&sandbox);
    }
    if let Some(name) = broken {
        return break_rules(&sandbox, &name, &plan);
    }
    if let Some(command) = one {
        return look(&sandbox, plan.shell, &command);
    }
    if lines {
        return structure(&sandbox, &plan.corpus);
    }
    if alone {
        let texts: Vec<String> =
            (0..plan.count).map(|number| candidate(plan.seed, number, &plan.corpus).text).collect();
        return structure(&sandbox, &texts);
    }
    let report = run(&sandbox, Gate::builtin(), &plan).map_err(|error| error.to_string())?;
    // The others were printed when they were made.
    for find in report.finds.iter().filter(|find| find.violation.law == Law::Structure) {
        say(&format!("{find}"));
    }
    if inexact {
        for (number, text, programs) in &report.inexact {
            say(&format!("{number} in part: {}\n  {text:?}", programs.join("; ")));
        }
    }
    for line in report.lines() {
        say(&line);
    }
    if record {
        let mut ledger = Ledger::load()?;
        ledger.note(plan.shell, plan.seed, &report);
        ledger.save()?;
    }
    Ok(report.finds.is_empty())
}

/// The structure law on texts.
fn structure(sandbox: &Sandbox, texts: &[String]) -> Result<bool, String> {
    let mut counts = Counts::new();
    for texts in texts.chunks(2_000) {
        let outcomes = structures(sandbox, texts).map_err(|error| error.to_string())?;
        for (text, outcome) in texts.iter().zip(outcomes) {
            let name = match outcome {
                Structure::Rejected => "rejected by bash",
                Structure::Gap => "read with a gap",
                Structure::Unstable => "bash's own print unstable",
                Structure::Same => "alike",
                Structure::Differs(about) => {
                    say(&format!("{text:?}\n  {about}"));
                    "different"
                }
            };
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    for (name, count) in &counts {
        say(&format!("{name}: {count}"));
    }
    Ok(!counts.contains_key("different"))
}

/// Breaks one rule of expansion after the other and says how soon the campaign finds it.
#[cfg(feature = "broken-rules")]
fn break_rules(sandbox: &Sandbox, name: &str, plan: &Plan) -> Result<bool, String> {
    use shellgate::expand::broken::{Rule, break_rule};
    let rules: Vec<Rule> =
        Rule::ALL.into_iter().filter(|rule| name == "all" || rule.name() == name).collect();
    if rules.is_empty() {
        let names = Rule::ALL.map(Rule::name).join(", ");
        return Err(format!("no rule `{name}`; there are: all, {names}"));
    }
    let plan = Plan {
        count: plan.count.min(2_000),
        corpus: suite::campaign::frozen(),
        shrink: false,
        first: true,
        aloud: false,
        ..plan.clone()
    };
    let mut good = true;
    for rule in rules {
        break_rule(Some(rule));
        let report = run(sandbox, Gate::builtin(), &plan).map_err(|error| error.to_string())?;
        break_rule(None);
        if let Some(find) = report.finds.first() {
            let Find { number, candidate, violation, .. } = find;
            say(&format!("{}: found by candidate {}: {violation}", rule.name(), number + 1));
            say(&format!("  {:?}", candidate.text));
        } else {
            say(&format!("{}: NOT FOUND in {} candidates", rule.name(), report.judged));
            good = false;
        }
    }
    Ok(good)
}

#[cfg(not(feature = "broken-rules"))]
fn break_rules(_: &Sandbox, _: &str, _: &Plan) -> Result<bool, String> {
    Err("no rule can be broken: build with --features broken-rules".into())
}

fn scripts(sandbox: &Sandbox) -> Result<bool, String> {
    let report = suite::scripts::judge(sandbox).map_err(|error| error.to_string())?;
    for (path, about) in &report.gaps {
        say(&format!("gap {}: {about}", path.display()));
    }
    for (path, about) in &report.differ {
        say(&format!("differs {}: {}", path.display(), about));
    }
    say(&format!("scripts: {}, accepted by bash: {}", report.found, report.accepted));
    say(&format!("read without a gap: {}", report.read));
    say(&format!(
        "printed alike: {}, bash's own print unstable: {}, differ: {}",
        report.same,
        report.unstable,
        report.differ.len()
    ));
    Ok(report.differ.is_empty())
}

fn look(sandbox: &Sandbox, shell: Shell, command: &str) -> Result<bool, String> {
    let observed = sandbox.run_under(shell, command).map_err(|error| error.to_string())?;
    for started in &observed.started {
        say(&format!("started {} {:?}", started.path, started.argv));
    }
    for path in &observed.written {
        say(&format!("written {path}"));
    }
    let context = Context { shell, ..suite::law::context() };
    say(&format!("{}", Gate::builtin().explain(command, &context)));
    let judged = judge(Gate::builtin(), shell, command, &observed);
    for violation in &judged.violations {
        say(&format!("BROKEN {violation}"));
    }
    let texts = [command.to_owned()];
    say(&format!("{:?}", structures(sandbox, &texts).map_err(|error| error.to_string())?));
    Ok(judged.violations.is_empty())
}
