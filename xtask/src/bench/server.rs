//! `cargo xtask bench server`: serving catalogs, compared with `opm serve`.

use super::{Report, catalog};
use crate::{
    command::{self, Error, capture, cargo},
    dist,
};

/// For how long bundles are requested at a constant rate, in seconds.
const SECONDS: &str = "60";

pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let mut bench = cargo(["bench", "--locked", "--package", "unlade-server", "--bench", "serve"]);
    bench.env("UNLADE_SERVER", dist::build_server()?.program);
    bench.arg("--").arg(catalog::whole()?).arg(n_rounds.to_string()).arg(SECONDS);
    eprintln!("\n> {}", command::describe(&bench));
    let table = String::from_utf8_lossy(&capture(&mut bench)?.stdout).into_owned();
    let text = include_str!("note/server.md.in").replace("{server}", table.trim());
    Ok(Report { goals: Vec::new(), text })
}
