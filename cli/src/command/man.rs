//! `unlade man`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clap::Command;
use clap_mangen::{
    Man as Page,
    roff::{Roff, roman},
};

use crate::{
    args::{Man, Program},
    error::Error,
    output,
};

pub(super) fn run(program: Program, args: Man) -> Result<(), Error> {
    let Man { directory } = args;
    let command = documented(program);
    if let Some(directory) = directory {
        return write_all(&command, &directory)
            .map_err(|source| Error::Man { directory: directory.display().to_string(), source });
    }
    page(&command).and_then(|page| output::print(&page)).map_err(Error::Output)
}

/// Returns the command as its man pages describe it.
fn documented(program: Program) -> Command {
    // clap_mangen omits the help of an option that `-h` hides, and lists a page of `help`, which it
    // does not write.
    fn reveal(command: Command) -> Command {
        command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(reveal)
    }
    // Pages are named after binaries: `kubectl-unlade-load.1`.
    let command = program.command().bin_name(program.binary()).disable_help_subcommand(true);
    let mut command = reveal(command);
    command.build();
    command
}

fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let path = directory.join(Page::new(command.clone()).get_filename());
    fs::write(path, page(command)?)?;
    command.get_subcommands().try_for_each(|command| write_all(command, directory))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let source = format!("unlade {}", env!("CARGO_PKG_VERSION"));
    let writer = Page::new(command.clone()).source(source);
    let mut page = Vec::new();
    writer.render_title(&mut page)?;
    writer.render_name_section(&mut page)?;
    writer.render_synopsis_section(&mut page)?;
    writer.render_description_section(&mut page)?;
    writer.render_options_section(&mut page)?;
    if command.has_subcommands() {
        writer.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help() {
        page.write_all(preformatted(&text.to_string()).as_bytes())?;
    }
    Ok(page)
}

/// Formats a section whose lines are not changed: the examples, or the table of exit codes.
fn preformatted(text: &str) -> String {
    let (heading, lines) = text.split_once(":\n").unwrap_or(("Notes", text));
    let mut section = Roff::new();
    section.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
    for line in lines.lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section.render()
}
