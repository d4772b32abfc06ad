//! What tests need beyond a Rust toolchain and a C compiler, and how to get it.
//!
//! A test lists its needs in `#[ignore = "needs NAME, NAME"]`, by the names in this table.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use unlade_testbed::Settings;

use crate::{
    cluster,
    command::{self, Error},
    corpus::Part,
};
use made::Made;

mod made;

/// Something that some tests cannot run without.
pub(crate) struct Need {
    /// Its name.
    pub(crate) name: &'static str,
    /// What the user can do if `cargo xtask test` cannot provide it.
    pub(crate) hint: &'static str,
    supply: Supply,
}

/// How a need can be met.
enum Supply {
    /// A program of the same name, from this Debian package.
    Package(&'static str),
    /// The machine allows it or does not.
    Machine(fn() -> bool),
    /// `cargo xtask test` builds or fetches it.
    Made(Made),
    /// A cluster that the environment names, or a testbed that exists for this run only.
    Cluster,
}

/// Every need of every test.
const NEEDS: [Need; 19] = [
    Need { name: "a cluster", hint: IN_ROOT, supply: Supply::Cluster },
    Need { name: "a testbed", hint: IN_ROOT, supply: Supply::Cluster },
    Need {
        name: "the static unpacker",
        hint: "run `cargo xtask dist`",
        supply: Supply::Made(Made::Unpacker),
    },
    Need {
        name: "the static server",
        hint: "run `cargo xtask image --server`",
        supply: Supply::Made(Made::Server),
    },
    Need {
        name: "the published bundles",
        hint: "run `cargo xtask corpus fetch`",
        supply: Supply::Made(Made::Corpus(Part::Bundles)),
    },
    Need {
        name: "the published catalogs",
        hint: "run `cargo xtask corpus fetch`",
        supply: Supply::Made(Made::Corpus(Part::Catalogs)),
    },
    Need {
        name: "Go",
        hint: "install Go, or python3 with pip, which can install Go",
        supply: Supply::Made(Made::Dialect),
    },
    Need {
        name: "upstream's programs",
        hint: "install Go, or python3 with pip, which can install Go",
        supply: Supply::Made(Made::Peers),
    },
    Need {
        name: "OLM's programs",
        hint: "install busybox-static, and Go or python3 with pip, which can install Go",
        supply: Supply::Made(Made::Olm),
    },
    Need { name: "strace", hint: "install strace", supply: Supply::Package("strace") },
    Need { name: "valgrind", hint: "install valgrind", supply: Supply::Package("valgrind") },
    Need { name: "skopeo", hint: "install skopeo", supply: Supply::Package("skopeo") },
    Need { name: "umoci", hint: "install umoci", supply: Supply::Package("umoci") },
    Need {
        name: "busybox",
        hint: "install busybox-static",
        supply: Supply::Package("busybox-static"),
    },
    Need { name: "python3", hint: "install python3", supply: Supply::Package("python3") },
    Need { name: "buildah", hint: "install buildah", supply: Supply::Package("buildah") },
    Need { name: "root", hint: "run it as root", supply: Supply::Machine(is_root) },
    Need {
        name: "namespaces",
        hint: "run it as root, or allow user namespaces",
        supply: Supply::Machine(has_namespaces),
    },
    Need {
        name: "IPv6",
        hint: "enable IPv6 on the loopback device",
        supply: Supply::Machine(|| TcpListener::bind("[::1]:0").is_ok()),
    },
];

const IN_ROOT: &str = "run it as root on Linux, or name a cluster (docs/testbed.md)";

/// Returns the names of all needs.
pub(crate) fn names() -> Vec<&'static str> {
    NEEDS.iter().map(|need| need.name).collect()
}

/// What the selected tests need that this machine does not have yet.
#[derive(Default)]
pub(crate) struct Plan {
    /// Debian packages to install.
    packages: Vec<&'static str>,
    /// What to build or fetch.
    makes: Vec<Made>,
    /// Whether to start a testbed.
    pub(crate) needs_testbed: bool,
    /// The names of unmet needs, with what the user can do.
    pub(crate) unmet: Vec<(&'static str, String)>,
    /// Our static programs, once they are built, and the variables by which the tests find them.
    pub(crate) programs: Vec<(&'static str, PathBuf)>,
}

/// What the caller allows.
pub(crate) struct Limits {
    /// Nothing is installed, fetched or built, except by cargo.
    pub(crate) no_install: bool,
    /// No cluster is used.
    pub(crate) no_cluster: bool,
}

impl Plan {
    /// Checks which of the `wanted` needs this machine does not meet.
    pub(crate) fn new(wanted: &[&str], limits: &Limits, settings: &Settings) -> Self {
        let mut plan = Self::default();
        for need in NEEDS.iter().filter(|need| wanted.contains(&need.name)) {
            match need.supply {
                Supply::Package(_) if command::is_on_path(need.name) => {}
                Supply::Package(package) => plan.install(need, &[package], limits),
                Supply::Machine(is_met) if is_met() => {}
                Supply::Machine(_) => plan.unmet.push((need.name, need.hint.to_owned())),
                Supply::Made(made) => plan.make(need, made, limits, settings),
                Supply::Cluster => plan.cluster(need, limits, settings),
            }
        }
        // Several needs may share a package or a program.
        plan.packages.sort_unstable();
        plan.packages.dedup();
        plan.makes.sort_unstable();
        plan.makes.dedup();
        plan
    }

    /// Checks whether a need is met after the plan is carried out.
    pub(crate) fn meets(&self, need: &str) -> bool {
        self.unmet.iter().all(|(name, _)| *name != need)
    }

    fn install(&mut self, need: &Need, packages: &[&'static str], limits: &Limits) {
        if packages.is_empty() {
            return;
        }
        if limits.no_install {
            self.unmet.push((need.name, "--no-install was given".to_owned()));
        } else if may_install() {
            self.packages.extend(packages);
        } else {
            self.unmet.push((need.name, need.hint.to_owned()));
        }
    }

    fn make(&mut self, need: &Need, made: Made, limits: &Limits, settings: &Settings) {
        if made.is_made(settings) {
            return;
        }
        if limits.no_install && !made.is_ours() {
            self.unmet.push((need.name, "--no-install was given".to_owned()));
            return;
        }
        self.install(need, &made.missing_packages(), limits);
        if self.meets(need.name) {
            self.makes.push(made);
        }
    }

    fn cluster(&mut self, need: &Need, limits: &Limits, settings: &Settings) {
        let named = std::env::var(cluster::CLUSTER).unwrap_or_default();
        if limits.no_cluster {
            self.unmet.push((need.name, "--no-cluster was given".to_owned()));
        } else if named.is_empty() && !is_root() {
            self.unmet.push((need.name, need.hint.to_owned()));
        } else if named.is_empty() {
            self.make(need, Made::TestbedPrograms, limits, settings);
            self.needs_testbed = self.meets(need.name);
        } else if named != "testbed" && need.name == "a testbed" {
            let why = format!("{} names a cluster that is not a testbed", cluster::CLUSTER);
            self.unmet.push((need.name, why));
        }
        if self.meets(need.name) {
            self.makes.push(Made::Unpacker);
        }
    }

    /// Describes each step in a line: what will be done, where, and roughly how long it takes.
    pub(crate) fn announcement(&self, settings: &Settings) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.packages.is_empty() {
            let packages = self.packages.join(", ");
            lines.push(format!("install {packages} on this machine with apt-get: about a minute"));
        }
        lines.extend(self.makes.iter().map(|made| made.announcement(settings)));
        if self.needs_testbed {
            let state = settings.state.display();
            lines.push(format!(
                "start a Kubernetes testbed in {state}, and remove it at the end: 20 s"
            ));
        }
        lines
    }

    /// Installs, builds and fetches everything, in the caller's network. A line before each step
    /// says how many steps are left. If a step fails, its need is unmet.
    pub(crate) fn carry_out(&mut self, settings: &Settings) -> Result<(), Error> {
        let n_steps = usize::from(!self.packages.is_empty()) + self.makes.len();
        let mut step = 0;
        let mut begin = |line: &str| {
            step += 1;
            eprintln!("\n[{step}/{n_steps}] {line}");
        };
        if !self.packages.is_empty() {
            begin(&format!("installing {}", self.packages.join(", ")));
            if let Err(error) = install(&self.packages) {
                eprintln!("{error}; the tests that need it are skipped");
            }
        }
        for made in self.makes.clone() {
            begin(&made.announcement(settings));
            match made.make(settings) {
                Ok(program) => self.programs.extend(program),
                // The sources are ours, so a failing build is an error.
                Err(error) if made.is_ours() => return Err(error),
                Err(error) => {
                    let why = unlade_text::chain(&error);
                    eprintln!("{why}");
                    self.fail(made, &why);
                }
            }
        }
        for need in &NEEDS {
            let Supply::Package(package) = need.supply else { continue };
            if self.packages.contains(&package) && !command::is_on_path(need.name) {
                self.unmet.push((need.name, need.hint.to_owned()));
            }
        }
        Ok(())
    }

    /// Marks the needs that `made` is for as unmet.
    fn fail(&mut self, made: Made, why: &str) {
        for need in &NEEDS {
            let is_for = match need.supply {
                Supply::Made(other) => other == made,
                Supply::Cluster => made == Made::TestbedPrograms,
                Supply::Package(_) | Supply::Machine(_) => false,
            };
            if is_for {
                self.unmet.push((need.name, why.to_owned()));
            }
        }
        self.needs_testbed &= made != Made::TestbedPrograms;
    }
}

fn install(packages: &[&str]) -> Result<(), Error> {
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        // Another process may be installing packages.
        apt.args(["-o", "DPkg::Lock::Timeout=600"]).args(arguments);
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        command::run(&mut apt)
    };
    let arguments = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    // New machines have no package lists; updating them takes a minute.
    apt(&arguments).or_else(|_| apt(&["update"]).and_then(|()| apt(&arguments)))
}

/// Checks whether this is root on Debian. Otherwise a password would be necessary during a test
/// run.
fn may_install() -> bool {
    is_root() && command::is_on_path("apt-get")
}

/// Checks whether this process runs as root.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| {
        use std::os::unix::fs::MetadataExt;
        process.uid() == 0
    })
}

/// Checks whether this user may mount, change the root and be process 1, in new namespaces.
fn has_namespaces() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork"]);
    unshare.args((!is_root()).then_some("--map-root-user"));
    unshare.args(["sh", "-ec", "mount -t tmpfs none /mnt; chroot / true"]);
    Path::new("/mnt").is_dir() && unshare.output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(cache: &Path) -> Settings {
        Settings { name: "t".to_owned(), state: "/state".into(), cache: cache.to_owned() }
    }

    #[test]
    fn needs_that_are_not_allowed_are_unmet_and_not_in_the_plan() {
        let cache = tempfile::tempdir().unwrap();
        let settings = settings(cache.path());
        let limits = Limits { no_install: true, no_cluster: true };
        let wanted = ["upstream's programs", "a cluster", "Go", "the static server"];
        let plan = Plan::new(&wanted, &limits, &settings);
        let unmet: Vec<_> = plan.unmet.iter().map(|(name, why)| (*name, why.as_str())).collect();
        assert_eq!(
            unmet,
            [
                ("a cluster", "--no-cluster was given"),
                ("Go", "--no-install was given"),
                ("upstream's programs", "--no-install was given"),
            ]
        );
        // Only cargo builds it.
        assert_eq!(plan.makes, [Made::Server]);
    }

    #[test]
    fn what_is_made_is_announced_with_its_place_and_only_for_tests_that_need_it() {
        let cache = tempfile::tempdir().unwrap();
        let settings = settings(cache.path());
        let limits = Limits { no_install: false, no_cluster: true };
        assert_eq!(Plan::new(&[], &limits, &settings).announcement(&settings), [""; 0]);
        let plan = Plan::new(&["the static unpacker", "Go"], &limits, &settings);
        let lines = plan.announcement(&settings);
        assert!(lines.len() == 2, "{lines:?}");
        assert!(lines[0].contains(&cache.path().display().to_string()), "{lines:?}");
        assert!(lines[1].contains("target/shipped"), "{lines:?}");
    }

    #[test]
    fn needs_that_could_not_be_made_are_unmet() {
        let mut plan = Plan { needs_testbed: true, ..Plan::default() };
        plan.fail(Made::TestbedPrograms, "no network");
        let wanted = [("a cluster", "no network"), ("a testbed", "no network")];
        assert_eq!(plan.unmet, wanted.map(|(name, why)| (name, why.to_owned())));
        assert!(!plan.needs_testbed && plan.meets("Go"));
    }
}
