//! Every stage of one command: `cargo run -p shellgate --example explain -- 'rm >log -rf /'`.

use std::io::{self, Write as _};

use shellgate::Gate;
use shellgate::model::context::Context;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for command in std::env::args().skip(1) {
        write!(out, "{}", Gate::builtin().explain(&command, &Context::default()))?;
    }
    out.flush()
}
