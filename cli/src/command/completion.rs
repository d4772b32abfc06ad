//! `unlade completion`.

use crate::{
    args::{Completion, Program},
    error::Error,
    output,
};

pub(super) fn run(program: Program, args: &Completion) -> Result<(), Error> {
    let mut script = Vec::new();
    // A shell completes the binary that is typed, not the name that kubectl gives it.
    let mut command = program.command().bin_name(program.binary());
    clap_complete::generate(args.shell, &mut command, program.binary(), &mut script);
    output::print(&script).map_err(Error::Output)
}
