//! The programs that this binary provides under other names: those of OLM's unpack Job and of its
//! catalog pods. OLM fixes the shape of both, but their images can be set (`--util-image`,
//! `--opmImage`). The exit codes are those of upstream, 0 and 1, or another code after a panic or a
//! signal.

mod copy_content;
mod cp;
mod cpb;
mod opm;

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use unlade_bundle::{Finding, finding};

use crate::log;

/// One of these programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applet {
    /// Copies `cpb` into the bundle image's container.
    Cp,
    /// Copies the bundle out of that container.
    Cpb,
    /// Writes the copy into the ConfigMap.
    Opm,
    /// Copies a catalog out of its image.
    CopyContent,
}

impl Applet {
    /// Returns the applet with the name `argv0`, or with the last component of it.
    pub(crate) fn from_argv0(argv0: &OsStr) -> Option<Self> {
        match Path::new(argv0).file_name()?.to_str()? {
            "cp" => Some(Self::Cp),
            "cpb" => Some(Self::Cpb),
            "opm" => Some(Self::Opm),
            "copy-content" => Some(Self::CopyContent),
            _ => None,
        }
    }

    /// Runs the applet with `args`, which do not include its name. Returns the exit code.
    pub(crate) fn run(self, args: Vec<OsString>) -> u8 {
        let stdout = &mut io::stdout();
        let (name, failed) = match self {
            Self::Cp => ("cp", cp::run(args, stdout).map_err(boxed)),
            Self::Cpb => ("cpb", cpb::run(args).map_err(boxed)),
            Self::CopyContent => ("copy-content", copy_content::run(args).map_err(boxed)),
            // It reports errors itself, because some have a hint.
            Self::Opm => return opm::run(&args, |name| std::env::var_os(name), stdout),
        };
        let Err(error) = failed else { return 0 };
        log::line("error", format_args!("{name}: {}", unlade_text::chain(error.as_ref())));
        1
    }
}

/// Logs each finding as a warning. Findings that are too many to list are only counted.
fn report_findings(findings: &[Finding]) {
    for finding in finding::listed(findings) {
        log::line("warning", finding);
    }
}

fn boxed(error: impl Error + 'static) -> Box<dyn Error> {
    Box::new(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_component_of_the_name_selects_the_applet() {
        for (name, expected) in [
            ("cp", Some(Applet::Cp)),
            ("/bin/cp", Some(Applet::Cp)),
            ("/util/cpb", Some(Applet::Cpb)),
            ("opm", Some(Applet::Opm)),
            ("/bin/copy-content", Some(Applet::CopyContent)),
            ("/injected/unlade-unpacker", None),
            ("/cpb/", Some(Applet::Cpb)),
            ("", None),
        ] {
            assert_eq!(Applet::from_argv0(name.as_ref()), expected, "{name}");
        }
    }
}
