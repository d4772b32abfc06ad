//! `cargo xtask cluster`: a real Kubernetes for experiments and for the tests.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{self, Command},
    time::Instant,
};

use unlade_testbed::{Node, REGISTRY, Settings, State, Testbed};

use crate::{command::Error, workspace};

/// The variable that selects the cluster of the tests; `unlade_tests::cluster` reads it.
pub(crate) const CLUSTER: &str = "UNLADE_CLUSTER";

/// A real Kubernetes in a network namespace of its own, without a container engine.
///
/// `UNLADE_TESTBED` selects one of several; the default is `default`. See docs/testbed.md.
#[derive(clap::Subcommand)]
pub(crate) enum Action {
    /// Starts the testbed and waits until it is ready. If it is already up, starts the parts that
    /// have ended, and adds nodes.
    Up {
        /// The number of nodes.
        #[arg(long, default_value_t = 1)]
        nodes: usize,
        /// The architecture in the label of the last node, such as `arm64`.
        #[arg(long, value_name = "ARCHITECTURE")]
        last_claims: Option<String>,
        /// Make the last node report the digests of image volumes (ImageVolumeWithDigest).
        #[arg(long)]
        last_reports_volumes: bool,
    },
    /// Removes the testbed, whatever state it is in: processes, mounts, namespaces, control groups,
    /// files.
    Down,
    /// Shows the parts and the nodes of the testbed.
    Status,
    /// Runs kubectl on the testbed.
    #[command(disable_help_flag = true)]
    Kubectl {
        /// The arguments of kubectl.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Runs a command in the network of the testbed, with KUBECONFIG set, and with kubectl, ctr and
    /// unlade on the PATH.
    Exec {
        /// The program and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Copies an image into the registry of the testbed.
    Push {
        /// A tar of an OCI image layout with one image.
        archive: PathBuf,
        /// Its name in the registry, such as `bundles/etcd:1.0`.
        name: String,
    },
}

pub(crate) fn run(action: Action) -> Result<(), Error> {
    let settings = Settings::from_env()?;
    match action {
        Action::Up { nodes, last_claims, last_reports_volumes } => {
            let mut nodes = vec![Node::default(); nodes];
            if let Some(last) = nodes.last_mut() {
                last.architecture = last_claims;
                if last_reports_volumes {
                    *last = std::mem::take(last).with_volume_digests();
                }
            }
            up(&settings, &nodes)
        }
        Action::Down => {
            match Testbed::down(&settings)? {
                0 => eprintln!("no testbed {:?} was running", settings.name),
                n => eprintln!(
                    "the testbed {:?} was removed, and {n} processes were killed",
                    settings.name
                ),
            }
            Ok(())
        }
        Action::Status => status(&Testbed::open(&settings)?),
        Action::Kubectl { arguments } => {
            let testbed = Testbed::open(&settings)?;
            become_command(&testbed, "kubectl".as_ref(), &arguments)
        }
        Action::Exec { command } => {
            let testbed = Testbed::open(&settings)?;
            // clap requires at least one word.
            let Some((program, arguments)) = command.split_first() else { return Ok(()) };
            become_command(&testbed, program, arguments)
        }
        Action::Push { archive, name } => {
            println!("{}", Testbed::open(&settings)?.push(&archive, &name)?);
            Ok(())
        }
    }
}

/// A testbed for the tests.
pub(crate) struct ForTests {
    settings: Settings,
}

impl ForTests {
    /// Starts a testbed for this checkout, beside those of users. It is always new, whatever an
    /// earlier run left behind, and is removed when this process ends, even by a signal.
    pub(crate) fn up(nodes: &[Node]) -> Result<Self, Error> {
        let mut hasher = DefaultHasher::new();
        workspace::root().hash(&mut hasher);
        let name = format!("tests-{:06x}", hasher.finish() & 0xff_ffff);
        let settings = Settings::from_env()?.named(&name)?;
        Testbed::down(&settings)?;
        let testbed = helper()
            .and_then(|helper| Ok(Testbed::up(&settings, nodes, &helper, &mut print_line)?))
            .and_then(|testbed| Ok(testbed.down_after(&settings, process::id())?));
        if let Err(error) = testbed {
            // The original error says more than an error of the removal.
            let _ = Testbed::down(&settings);
            return Err(error);
        }
        Ok(Self { settings })
    }

    /// Runs `test` on the testbed, and removes the testbed whatever the result is.
    pub(crate) fn run<T>(
        self,
        test: &mut Command,
        run: impl FnOnce(&mut Command) -> Result<T, Error>,
    ) -> Result<T, Error> {
        test.env(CLUSTER, "testbed").env("UNLADE_TESTBED", &self.settings.name);
        let outcome = run(test);
        Testbed::down(&self.settings)?;
        outcome
    }
}

fn up(settings: &Settings, nodes: &[Node]) -> Result<(), Error> {
    let started = Instant::now();
    let testbed = Testbed::up(settings, nodes, &helper()?, &mut print_line)?;
    let seconds = started.elapsed().as_secs_f32();
    eprintln!("the testbed {:?} is ready after {seconds:.1} s\n", settings.name);
    let directory = testbed.directory().display();
    println!(
        "  cargo xtask cluster kubectl get pods --all-namespaces\n  \
           cargo xtask cluster exec -- COMMAND            a command in its network\n  \
           cargo xtask cluster push IMAGE.tar bundles/a:1 an image; pods find it at {REGISTRY}/bundles/a:1\n  \
           cargo xtask cluster status                     its parts\n  \
           cargo xtask cluster down                       removes all of it\n\n\
         kubeconfig: {}\n\
         logs:       {directory}/log",
        testbed.kubeconfig().display()
    );
    Ok(())
}

/// Returns the path of this program, which is also the helper of the testbed.
fn helper() -> Result<PathBuf, Error> {
    env::current_exe().map_err(|source| Error::File { path: "the running program".into(), source })
}

/// Shows a line of progress.
pub(crate) fn print_line(line: &str) {
    eprintln!("{line}");
}

fn status(testbed: &Testbed) -> Result<(), Error> {
    let mut text = String::new();
    for part in testbed.parts()? {
        let state = match part.state {
            State::Running => "running",
            State::Stopped => "stopped",
            State::Ended => "ended",
        };
        let pid = part.pid.map_or_else(|| "-".into(), |pid| pid.to_string());
        let (name, log) = (part.part.to_string(), part.log.display());
        let _ = writeln!(text, "{name:24} {state:8} {pid:>8}  {log}");
    }
    // The parts are shown even if the API server does not respond.
    let nodes = testbed.kubectl(["get", "nodes", "--output=wide"]);
    if let Ok(nodes) = &nodes {
        let _ = write!(text, "\n{nodes}");
    }
    // If the reader has closed the pipe, the error does not matter.
    let _ = io::stdout().write_all(text.as_bytes());
    nodes.map(drop).map_err(Error::from)
}

/// Replaces this process by a command in the network of the testbed; returns only if this fails.
fn become_command(testbed: &Testbed, program: &OsStr, arguments: &[OsString]) -> Result<(), Error> {
    // `ip netns exec` would hide the control groups.
    testbed.enter()?;
    let mut command = testbed.command(program);
    // The newest binaries come first.
    let builds = ["debug", "release", "dist"].map(|profile| workspace::target().join(profile));
    let path = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
    let path = path.map(OsStr::to_owned).unwrap_or_default();
    if let Ok(path) = env::join_paths(builds.into_iter().chain(env::split_paths(&path))) {
        // The program itself is also searched on this PATH.
        command.env("PATH", path);
    }
    let source = command.args(arguments).exec();
    Err(Error::Start { program: program.display().to_string(), source })
}
