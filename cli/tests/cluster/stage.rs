use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use unlade_bundle::Limits;
use unlade_oci::{
    Platform,
    build::{Image, bundle},
};
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::example;

use crate::finished::Finished;

/// The maximum time that a test waits.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The environment of a test.
pub(crate) struct Stage<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) namespace: Namespace<'c>,
    pub(crate) tool_image: String,
}

impl Stage<'_> {
    /// Runs a test in its own namespace.
    pub(crate) fn open(test: &str, run: impl FnOnce(&Stage<'_>)) {
        let cluster = Cluster::open_testbed();
        let tool_image = cluster.push_unpacker();
        let namespace = cluster.namespace(test);
        cluster.testbed().enter().unwrap();
        run(&Stage { cluster: &cluster, namespace, tool_image });
    }

    /// Pushes the example bundle to the registry, with a tag.
    pub(crate) fn push(&self, name: &str) -> String {
        self.push_bundle(&example(), name)
    }

    /// Pushes another bundle under the same name.
    pub(crate) fn push_bundle(&self, directory: &Path, name: &str) -> String {
        let (repository, _) = self.push_with_digest(directory, name);
        format!("{repository}:1")
    }

    /// Pushes a bundle under the tag 1. Returns its repository and its digest.
    pub(crate) fn push_with_digest(&self, directory: &Path, name: &str) -> (String, String) {
        let image = bundle::image(directory, Platform::host(), &Limits::default()).unwrap();
        let pushed = self.cluster.push(&image, &format!("cli/{name}:1"));
        let (repository, digest) = pushed.split_once('@').unwrap();
        (repository.to_owned(), digest.to_owned())
    }

    /// Pushes an image that is not a bundle to the registry, under a tag.
    pub(crate) fn push_empty(&self, name: &str) {
        let image = Image::from_scratch(Platform::host());
        self.cluster.push(&image, &format!("cli/{name}:1"));
    }

    /// Returns the name of an image that does not exist in the registry.
    pub(crate) fn missing(&self, name: &str) -> String {
        format!("{}/cli/{name}:1", self.cluster.registry())
    }

    /// Runs `unlade` in the namespace.
    pub(crate) fn unlade<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Finished {
        self.command(arguments).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Starts `unlade` in the namespace.
    pub(crate) fn start<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs `unlade` with `input` piped in.
    pub(crate) fn piped<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        input: &str,
    ) -> Finished {
        Finished::run(self.command(arguments), input)
    }

    /// Runs kubectl, which finds the plugin on its PATH.
    pub(crate) fn plugin(&self, arguments: &[&str]) -> Finished {
        let mut command = self.cluster.testbed().command("kubectl");
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-unlade")).parent().unwrap();
        let directories = std::env::split_paths(path).chain([plugin.to_owned()]);
        let path = std::env::join_paths(directories).unwrap();
        let command = command.env("PATH", path).env("UNLADE_TOOL_IMAGE", &self.tool_image);
        command.args(arguments).stdin(Stdio::null()).output().unwrap().into()
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.namespace.kubectl(arguments.iter().copied()).unwrap()
    }

    /// Runs kubectl with `input` piped in.
    pub(crate) fn kubectl_with<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        input: &str,
    ) {
        let mut command = self.cluster.testbed().command("kubectl");
        command.args(["-n", self.namespace.name()]).args(arguments);
        Finished::run(command, input).success();
    }

    /// Waits until the namespace contains no object of a launch.
    #[track_caller]
    pub(crate) fn wait_until_nothing_is_left(&self) {
        let kinds = "configmaps,serviceaccounts,roles,rolebindings,jobs,pods";
        let label = "app.kubernetes.io/managed-by=unlade";
        Self::wait_until("", || self.kubectl(&["get", kinds, "-l", label, "-o", "name"]));
    }

    /// Waits until `output` returns this text.
    #[track_caller]
    pub(crate) fn wait_until(expected: &str, output: impl Fn() -> String) {
        let end = Instant::now() + PATIENCE;
        loop {
            let output = output();
            if output.trim() == expected {
                return;
            }
            assert!(Instant::now() < end, "still {output}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.cluster.testbed().command(env!("CARGO_BIN_EXE_unlade"));
        let arguments: Vec<_> = arguments.into_iter().collect();
        command.args(&arguments).env("UNLADE_TOOL_IMAGE", &self.tool_image);
        command.env("UNLADE_CACHE_SIZE", "0");
        // After the subcommand; `load` has no namespace.
        let has_place = ["-A", "-n"].iter().any(|place| arguments.contains(place));
        if arguments.first() != Some(&"load") && !has_place {
            command.args(["-n", self.namespace.name()]);
        }
        command
    }
}
