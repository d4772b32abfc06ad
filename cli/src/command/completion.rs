//! `unlade completion`.

use clap::{Arg, ArgAction};

use crate::{
    args::{Completion, Program},
    error::Error,
    output,
};

pub(super) fn run(program: Program, args: &Completion) -> Result<(), Error> {
    let mut script = Vec::new();
    // A shell completes the name of the binary, not `kubectl unlade`.
    let mut command = program.command().bin_name(program.binary());
    // The scripts would also offer the values after a space, where they would be read as images or
    // names.
    for name in ["launch", "delete"] {
        command = command.mut_subcommand(name, |command| {
            command.mut_arg("dry_run", |arg| {
                let help = arg.get_help().cloned().unwrap_or_default();
                Arg::new("dry_run").long("dry-run").action(ArgAction::SetTrue).help(help)
            })
        });
    }
    clap_complete::generate(args.shell, &mut command, program.binary(), &mut script);
    output::print(&script).map_err(Error::Output)
}
