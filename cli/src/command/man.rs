//! `unlade man`.

use std::fs;

use crate::{
    args::{Man, Program},
    error::Error,
    output,
};

pub(super) fn run(program: Program, args: Man) -> Result<(), Error> {
    let Man { directory } = args;
    // Pages are named after binaries: `kubectl-unlade-load.1`.
    let command = program.command().bin_name(program.binary());
    if let Some(directory) = directory {
        return fs::create_dir_all(&directory)
            .and_then(|()| clap_mangen::generate_to(command, &directory))
            .map_err(|source| Error::Man { directory: directory.display().to_string(), source });
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .and_then(|()| output::print(&page))
        .map_err(Error::Output)
}
