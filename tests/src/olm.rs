//! OLM's own programs on a testbed, for tests and comparisons.

#![expect(clippy::panic, reason = "a harness: what cannot be made here must fail the test")]

mod unpack;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Compression, Entry, Image, Layer};
use unlade_testbed::{Kubectl, Olm as Programs, Settings};

use crate::cluster::{Cluster, Namespace};

pub use unpack::Unpack;

/// The time after which a definition of a kind must be established.
const PATIENCE: Duration = Duration::from_mins(5);
/// The user of OLM's images.
const USER: &str = "1001";
/// The PATH of their base image, because the unpack Job calls `opm` without a path.
const SEARCH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// OLM's own programs, and images of them in the registry of a testbed.
#[derive(Debug, Clone)]
pub struct Olm {
    programs: Programs,
    /// The image for `--util-image`, with `/bin/cp` and `/bin/cpb`.
    pub util: String,
    /// The image for `--opmImage`, with `/bin/opm`.
    pub opm: String,
}

impl Olm {
    /// Builds the programs, unless they are already built, and pushes the two images of OLM's
    /// unpack Job.
    ///
    /// # Panics
    ///
    /// If the programs cannot be built here, the cluster is not a testbed, or its registry does not
    /// accept the images.
    pub fn open(cluster: &Cluster) -> Self {
        let settings = Settings::from_env().unwrap_or_else(|error| panic!("{error}"));
        let programs = Programs::prepare(&settings.cache, &mut |line| eprintln!("{line}"))
            .unwrap_or_else(|error| panic!("failed to build OLM's programs: {error}"));
        let olm = Self { programs, util: String::new(), opm: String::new() };
        let util = cluster.push(&olm.util_image(), "olm/util:1");
        let opm = cluster.push(&olm.opm_image(), "olm/opm:1");
        Self { util, opm, ..olm }
    }

    /// Replaces the images for the two flags.
    #[must_use]
    pub fn with_images(self, util: String, opm: String) -> Self {
        Self { util, opm, ..self }
    }

    /// Returns the image for `--util-image`, with upstream's programs only.
    pub fn util_image(&self) -> Image {
        let programs = [("cp", self.programs.busybox()), ("cpb", &self.programs.program("cpb"))];
        image(&programs, Compression::Gzip)
    }

    /// Returns the image for `--opmImage`, with upstream's program only.
    pub fn opm_image(&self) -> Image {
        image(&[("opm", &self.programs.program("opm"))], Compression::Gzip)
    }

    /// Returns an image of one of OLM's operators: `catalog` or `olm`. It is not compressed,
    /// because it is not measured and does not leave the machine.
    pub fn image(&self, program: &str) -> Image {
        let mut image = image(&[(program, &self.programs.program(program))], Compression::None);
        image.config.entrypoint = vec![format!("/bin/{program}")];
        image
    }

    /// Returns the path of a program such as `opm`, to run on this machine.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.program(name)
    }

    /// Creates the wanted CustomResourceDefinitions of OLM, which are deleted with `home`. If those
    /// of an earlier test are still being deleted, waits until they are gone.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses, or takes longer than five minutes.
    pub fn define_kinds(
        &self,
        cluster: &Cluster,
        home: &Namespace<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) {
        let kubectl = cluster.kubectl();
        let run = |command: &[&str], names: &[&str]| {
            let run = kubectl.run([command, names].concat());
            run.unwrap_or_else(|error| panic!("{error}"));
        };
        let mut crds = self.crds(kubectl);
        crds.retain(|crd| is_wanted(name(crd)));
        let names: Vec<_> = crds.iter().map(name).collect();
        run(&["delete", "crd", "--ignore-not-found", "--timeout=300s"], &names);
        for name in &names {
            home.takes_along("crd", name);
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": crds});
        kubectl.apply(&list).unwrap_or_else(|error| panic!("{error}"));
        // `kubectl wait` fails at once while a definition has no conditions.
        for name in names {
            home.wait(&format!("crd/{name}"), PATIENCE, |crd| {
                let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
                conditions.into_iter().flatten().any(|condition| {
                    condition.get("type").is_some_and(|kind| kind == "Established")
                        && condition.get("status").is_some_and(|status| status == "True")
                })
            });
        }
    }

    fn crds(&self, kubectl: &Kubectl) -> Vec<Value> {
        let directory = self.programs.crds().display().to_string();
        let read = ["create", "--dry-run=client", "--output=json", "--filename", &directory];
        let text = kubectl.run(read).unwrap_or_else(|error| panic!("{error}"));
        let objects = serde_json::Deserializer::from_str(&text).into_iter();
        objects.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{directory}: {error}"))
    }
}

fn name(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns an image with static programs in `/bin`.
fn image(programs: &[(&str, &Path)], compression: Compression) -> Image {
    let mut image = Image::from_scratch(Platform::host());
    let entries = programs
        .iter()
        .map(|(name, program)| Entry::copy(format!("bin/{name}"), program).with_mode(0o755));
    image.layers.push(Layer::new(entries).compressed(compression));
    image.config.user = Some(USER.to_owned());
    image.config.env = vec![SEARCH.to_owned()];
    image.config.working_dir = Some("/".to_owned());
    image
}
