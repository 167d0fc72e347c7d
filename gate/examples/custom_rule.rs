//! A rule and a utility of one's own: `cargo run -p shellgate --example custom_rule`.

use std::error::Error;
use std::io::{self, Write as _};

use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::context::Context;

/// What stands in a `policy.toml`; the format is in `docs/policy.md`.
const POLICY: &str = r#"
# What our own program does: its operands are read, `--out` is written, `wipe` deletes.
[[utility]]
name     = "ledger"
options  = [{ names = ["-o", "--out"], value = "required", kind = "path", effects = ["write"] }]
operands = [{ effects = ["read"] }]

[[utility.subcommand]]
name     = "wipe"
operands = [{ effects = ["delete"] }]

# What we mind: no host but ours.
[[rule]]
id      = "foreign_host"
label   = "high_risk_area"
why     = "It talks to a host that is not ours."
instead = "Use a mirror below example.org."
hits    = ["curl -s https://example.com/a.txt"]
misses  = ["curl -s https://files.example.org/a.txt"]
[rule.match]
effect  = ["receive", "send", "connect"]
host    = "*"
not     = { host = "https://*.example.org/*" }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let policy = Policy::read("policy.toml", POLICY, Level::User)?;
    let gate = Gate::new(&[policy])?;
    let mut out = io::stdout().lock();
    for command in [
        "ledger 2026.txt",
        "ledger --out /etc/ledger 2026.txt",
        "ledger wipe ~/books",
        "curl -s https://files.example.org/a.txt",
        "curl -s https://example.com/a.txt",
    ] {
        let verdict = gate.classify(command, &Context::default());
        writeln!(out, "{:5} {command}  {}", verdict.decision.name(), verdict.labels.join(" "))?;
    }
    out.flush()?;
    Ok(())
}
