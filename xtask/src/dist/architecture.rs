//! The architectures that programs are built for, and the programs that build for them.

use std::{
    env::{self, consts},
    fs,
    path::PathBuf,
    process::Command,
};

use clap::ValueEnum;

use crate::{
    command::{self, Error, capture},
    workspace,
};

/// A program that a compiler can link statically if it has a suitable glibc. Before 2.36, the start
/// of a static program does not apply packed relocations, so the program would crash.
const PROGRAM: &str = "#include <features.h>
#if !__GLIBC_PREREQ(2, 36)
#error \"glibc is older than 2.36\"
#endif
int main(void) { return 0; }
";

/// An architecture of nodes. Its names are Go's, as in `unlade launch --architecture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Architecture {
    Amd64,
    Arm64,
    Ppc64le,
    S390x,
}

impl Architecture {
    /// Returns the architecture of this machine.
    pub(crate) fn host() -> Result<Self, Error> {
        match consts::ARCH {
            "x86_64" => Ok(Self::Amd64),
            "aarch64" => Ok(Self::Arm64),
            "powerpc64" if cfg!(target_endian = "little") => Ok(Self::Ppc64le),
            "s390x" => Ok(Self::S390x),
            other => Err(Error::Missing {
                what: format!(
                    "the unpacker cannot be built for {other}, the architecture of this machine"
                ),
                hint: "set another architecture with --architecture".to_owned(),
            }),
        }
    }

    /// Returns the name in Go.
    pub(crate) fn name(self) -> &'static str {
        self.names().go
    }

    /// Returns the Rust target of a static build.
    pub(crate) fn target(self, libc: Libc) -> String {
        let end = match libc {
            Libc::Glibc => "gnu",
            Libc::Musl => "musl",
        };
        format!("{}-unknown-linux-{end}", self.names().rust)
    }

    fn names(self) -> Names {
        let [go, rust, gnu, debian] = match self {
            Self::Amd64 => ["amd64", "x86_64", "x86_64-linux-gnu", "amd64"],
            Self::Arm64 => ["arm64", "aarch64", "aarch64-linux-gnu", "arm64"],
            Self::Ppc64le => ["ppc64le", "powerpc64le", "powerpc64le-linux-gnu", "ppc64el"],
            Self::S390x => ["s390x", "s390x", "s390x-linux-gnu", "s390x"],
        };
        Names { go, rust, gnu, debian }
    }
}

/// The C library that a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Libc {
    /// That of the C compiler.
    Glibc,
    /// That of the Rust toolchain.
    Musl,
}

/// The names of an architecture in other tools.
struct Names {
    go: &'static str,
    /// The architecture in the names of Rust targets.
    rust: &'static str,
    /// The prefix of the names of cross tools.
    gnu: &'static str,
    debian: &'static str,
}

/// The programs that build for an architecture, all of which exist on this machine.
#[derive(Debug)]
pub(crate) struct Toolchain {
    pub(crate) architecture: Architecture,
    pub(super) libc: Libc,
    target: String,
    /// The C compiler, which links too.
    pub(crate) compiler: String,
    /// The prefix of the names of the other tools; empty for the architecture of this machine.
    prefix: String,
}

impl Toolchain {
    /// Checks that the machine has everything that the build needs, because the build takes
    /// minutes.
    pub(crate) fn find(architecture: Architecture, libc: Libc) -> Result<Self, Error> {
        let target = architecture.target(libc);
        let is_host = Architecture::host().is_ok_and(|host| host == architecture);
        let prefix = if is_host { String::new() } else { format!("{}-", architecture.names().gnu) };
        let usual = if is_host { "cc".to_owned() } else { format!("{prefix}gcc") };
        let compiler = env::var(linker_variable(&target)).unwrap_or(usual);
        let toolchain = Self { architecture, libc, target, compiler, prefix };
        toolchain.standard_library()?;
        toolchain.programs()?;
        if libc == Libc::Glibc {
            toolchain.static_libc()?;
        }
        Ok(toolchain)
    }

    /// Returns the Rust target of the build.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Returns the command of one of the GNU tools.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut tool = Command::new(format!("{}{name}", self.prefix));
        tool.env("LC_ALL", "C");
        tool
    }

    /// Passes the compiler to cargo, and to build scripts that compile C, unless it is the default.
    pub(crate) fn set_compiler(&self, cargo: &mut Command) {
        if self.prefix.is_empty() && self.libc == Libc::Glibc {
            return;
        }
        let compiler = format!("CC_{}", self.target.replace('-', "_"));
        for variable in [linker_variable(&self.target), compiler] {
            if env::var_os(&variable).is_none() {
                cargo.env(variable, &self.compiler);
            }
        }
    }

    /// Returns the directory of Rust's standard library for the target.
    pub(super) fn standard_library(&self) -> Result<PathBuf, Error> {
        let target = &self.target;
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = capture(Command::new(rustc).current_dir(workspace::root()).args([
            "--print",
            "target-libdir",
            "--target",
            target.as_str(),
        ]))?;
        let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        if directory.is_dir() {
            return Ok(directory);
        }
        Err(self.missing(
            &format!("the Rust toolchain has no standard library for {target}"),
            &format!("rustup target add {target}"),
        ))
    }

    fn programs(&self) -> Result<(), Error> {
        let others = ["readelf", "nm", "strip"].map(|name| format!("{}{name}", self.prefix));
        let all = [self.compiler.clone()].into_iter().chain(others);
        match all.into_iter().find(|program| !command::is_on_path(program)) {
            None => Ok(()),
            Some(program) => {
                let what = format!("{program} is not on the PATH");
                Err(self.missing(&what, &self.compiler_hint()))
            }
        }
    }

    /// Checks for a static glibc, by linking a program.
    fn static_libc(&self) -> Result<(), Error> {
        let directory = workspace::target().join("shipped");
        let file = Error::file(&directory);
        fs::create_dir_all(&directory).map_err(file)?;
        let source = directory.join(format!(".static-{}.c", self.architecture.name()));
        let program = source.with_extension("");
        fs::write(&source, PROGRAM).map_err(file)?;
        let mut compiler = Command::new(&self.compiler);
        compiler.arg("-static").arg("-o").arg(&program).arg(&source);
        let outcome = capture(&mut compiler);
        for path in [&source, &program] {
            // The next run overwrites a file that stays.
            let _ = fs::remove_file(path);
        }
        outcome.map(|_| ()).map_err(|_| {
            let what =
                format!("{} cannot link a static program with glibc 2.36 or later", self.compiler);
            self.missing(&what, &self.compiler_hint())
        })
    }

    fn missing(&self, what: &str, hint: &str) -> Error {
        let name = self.architecture.name();
        Error::Missing {
            what: format!("this machine cannot build for {name}: {what}"),
            hint: hint.to_owned(),
        }
    }

    fn compiler_hint(&self) -> String {
        if self.prefix.is_empty() {
            return "install a C compiler and a static C library: \
                    gcc and libc6-dev on Debian, gcc and glibc-static on Fedora"
                .to_owned();
        }
        let variable = linker_variable(&self.target);
        let Names { gnu, debian, .. } = self.architecture.names();
        format!(
            "install gcc-{gnu} and libc6-dev-{debian}-cross (their names on Debian), \
             or set the C compiler in {variable}"
        )
    }
}

/// Returns the variable from which cargo takes the linker of a target.
fn linker_variable(target: &str) -> String {
    let target = target.replace('-', "_").to_uppercase();
    format!("CARGO_TARGET_{target}_LINKER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_the_names_of_go() {
        let all = Architecture::value_variants();
        let names: Vec<_> = all.iter().map(|it| it.name()).collect();
        assert_eq!(names, ["amd64", "arm64", "ppc64le", "s390x"]);
        for it in all {
            assert_eq!(it.to_possible_value().unwrap().get_name(), it.name());
        }
    }

    #[test]
    fn an_error_about_a_missing_compiler_says_what_to_install() {
        let toolchain = Toolchain {
            architecture: Architecture::Arm64,
            libc: Libc::Glibc,
            target: Architecture::Arm64.target(Libc::Glibc),
            compiler: "no-such-gcc".into(),
            prefix: "no-such-".into(),
        };
        let error = toolchain.programs().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("cannot build for arm64") && text.contains("no-such-gcc"), "{text}");
        let hint = error.hint().unwrap();
        for part in ["gcc-aarch64-linux-gnu", "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] {
            assert!(hint.contains(part), "{hint}");
        }
    }
}
