//! What tests need beyond a Rust toolchain and a C compiler, and how to get it.

use std::process::Command;

use crate::{command, workspace};

/// Something that some tests can't run without.
pub(crate) struct Need {
    /// What it is called.
    pub(crate) name: &'static str,
    /// The tests that are left out without it.
    pub(crate) tests: &'static str,
    /// The Debian packages that bring it; none if no package does.
    packages: &'static [&'static str],
    /// What a person can do.
    pub(crate) hint: &'static str,
    is_there: fn() -> bool,
}

/// Every need of every test. A test that needs more adds a line here.
pub(crate) const NEEDS: [Need; 6] = [
    Need {
        name: "the corpus of published bundles",
        tests: "comparisons with the answers of the Go original over real bundles",
        packages: &[],
        hint: "put it at ../shared/corpus, or name its directory in UNLADE_CORPUS",
        is_there: || workspace::corpus().join("golden").is_dir(),
    },
    Need {
        name: "strace",
        tests: "the list of files that the unpacker opens inside a hostile file system",
        packages: &["strace"],
        hint: "install strace",
        is_there: || command::is_there("strace"),
    },
    Need {
        name: "valgrind",
        tests: "how the cost of hostile inputs grows with their size",
        packages: &["valgrind"],
        hint: "install valgrind",
        is_there: || command::is_there("valgrind"),
    },
    Need {
        name: "skopeo and umoci",
        tests: "what other programs make of the images that are written",
        packages: &["skopeo", "umoci"],
        hint: "install skopeo and umoci",
        is_there: || command::is_there("skopeo") && command::is_there("umoci"),
    },
    Need {
        name: "busybox and Python",
        tests: "layers of other programs beside Go's archive/tar",
        packages: &["busybox", "python3"],
        hint: "install busybox and python3",
        is_there: || command::is_there("busybox") && command::is_there("python3"),
    },
    Need {
        name: "buildah",
        tests: "the image that an engine makes of images/Containerfile, beside ours",
        packages: &["buildah"],
        hint: "install buildah",
        is_there: || command::is_there("buildah"),
    },
];

/// Gets what is missing, where that is allowed, and returns what still is.
pub(crate) fn provide() -> Vec<&'static Need> {
    let missing = || NEEDS.iter().filter(|need| !(need.is_there)());
    let packages: Vec<_> = missing().flat_map(|need| need.packages).copied().collect();
    if !packages.is_empty() && may_install() {
        install(&packages);
    }
    missing().collect()
}

fn install(packages: &[&str]) {
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
        command::run(&mut apt)
    };
    let arguments = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    // Fresh machines have no package lists; others save the minute.
    let installed = apt(&arguments).or_else(|_| apt(&["update"]).and_then(|()| apt(&arguments)));
    if let Err(error) = installed {
        eprintln!("{error}: going on without {}", packages.join(", "));
    }
}

/// Root on a Debian: nobody is asked for a password in the middle of a test run.
fn may_install() -> bool {
    is_root() && command::is_there("apt-get")
}

/// Whether this process is root's.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| {
        use std::os::unix::fs::MetadataExt;
        process.uid() == 0
    })
}
