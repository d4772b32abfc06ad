//! What the program is by another name: the parts of OLM's unpack Job, whose shape OLM fixes and
//! whose images can be set (`--util-image`, `--opmImage`). Exit codes are upstream's, 0 and 1.

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

/// One of these parts.
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
    /// The one of this name; of a path its last part counts.
    pub(crate) fn of(name: &OsStr) -> Option<Self> {
        match Path::new(name).file_name()?.to_str()? {
            "cp" => Some(Self::Cp),
            "cpb" => Some(Self::Cpb),
            "opm" => Some(Self::Opm),
            "copy-content" => Some(Self::CopyContent),
            _ => None,
        }
    }

    /// Runs it with `args`, its name left out. Gives the exit code.
    pub(crate) fn run(self, args: Vec<OsString>) -> u8 {
        let stdout = &mut io::stdout();
        let (name, failed) = match self {
            Self::Cp => ("cp", cp::run(args, stdout).map_err(boxed)),
            Self::Cpb => ("cpb", cpb::run(args).map_err(boxed)),
            Self::CopyContent => ("copy-content", copy_content::run(args).map_err(boxed)),
            // Its errors are those of upstream's command.
            Self::Opm => return opm::run(&args, |name| std::env::var_os(name), stdout),
        };
        let Err(error) = failed else { return 0 };
        log::line("error", format_args!("{name}: {}", log::chain(error.as_ref())));
        1
    }
}

/// Gives `warn` what was noticed of a bundle, and the number of what is too much to list.
fn tell(findings: &[Finding], warn: impl Fn(&str)) {
    for finding in finding::listed(findings) {
        warn(&finding);
    }
}

fn boxed(error: impl Error + 'static) -> Box<dyn Error> {
    Box::new(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_chooses_and_of_a_path_its_last_part() {
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
            assert_eq!(Applet::of(name.as_ref()), expected, "{name}");
        }
    }
}
