//! The image registry, its faults, and the copying of images into it.

mod fault;
pub(crate) mod proxy;

use std::fs::File;
use std::path::Path;

use serde_json::json;
use unlade_name::ImageReference;
use unlade_oci::Source;
use unlade_registry::{Options, push};

use crate::address::{REGISTRY, REGISTRY_BEHIND};
use crate::testbed::Plan;
use crate::{Error, Part, Testbed, file, launcher};

pub use fault::{Answer, CREDENTIALS, Fault};

use fault::Faults;

/// Starts the registry and the proxy in front of it.
pub(crate) fn start(plan: &Plan<'_>) -> Result<(), Error> {
    let directory = plan.place.registry();
    let images = directory.join("images");
    file::create_directory(&images)?;
    let config = directory.join("config.yml");
    // JSON, which is YAML.
    file::write_json(
        &config,
        &json!({
            "version": "0.1",
            "log": {"level": "warn", "accesslog": {"disabled": true}},
            "storage": {"filesystem": {"rootdirectory": images}, "delete": {"enabled": true}},
            "http": {"addr": REGISTRY_BEHIND},
        }),
    )?;
    let config = config.display().to_string();
    plan.start_part(Part::Registry, &plan.programs.registry(), &["serve".into(), config])?;
    let faults = directory.join("faults.json").display().to_string();
    let args = [launcher::ARGUMENT, "proxy", REGISTRY, REGISTRY_BEHIND, &faults];
    plan.start_part(Part::RegistryProxy, &plan.place.launcher(), &args.map(str::to_owned))
}

/// A repository with a fault. The fault ends when this value is dropped.
#[derive(Debug)]
#[must_use = "the fault ends when this is dropped"]
pub struct FaultyRepository<'t> {
    testbed: &'t Testbed,
    repository: String,
    number: u64,
}

impl Drop for FaultyRepository<'_> {
    fn drop(&mut self) {
        let heal = |faults: &mut Faults| faults.heal(&self.repository, self.number);
        let healed = self.testbed.change_faults(heal);
        if let Err(error) = healed {
            eprintln!("failed to end the fault of {}: {error}", self.repository);
        }
    }
}

impl Testbed {
    /// Makes the registry respond to requests for a repository, such as `bundles/etcd`, with a
    /// fault. The fault begins with the next request, and ends when the returned value is dropped
    /// or another fault is set.
    ///
    /// # Errors
    ///
    /// Returns [`Error::File`] if the faults cannot be recorded.
    pub fn fault_registry(
        &self,
        repository: &str,
        fault: Fault,
    ) -> Result<FaultyRepository<'_>, Error> {
        let number = self.change_faults(|faults| faults.set(repository, fault))?;
        Ok(FaultyRepository { testbed: self, repository: repository.to_owned(), number })
    }

    /// Copies the only image of an OCI archive or image layout into the registry. The name is one
    /// in the registry, such as `bundles/etcd:1.0`. Returns the name with the digest, which a
    /// pod can use.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Name`] if the name is not valid, [`Error::Push`] if the archive is not
    /// valid or the registry refuses.
    pub fn push(&self, archive: &Path, name: &str) -> Result<String, Error> {
        let name = name.strip_prefix(REGISTRY).map_or(name, |name| name.trim_start_matches('/'));
        let image: ImageReference = format!("{REGISTRY}/{name}").parse()?;
        let options = Options::default().with_plain_http(true);
        let source = Source::Path(archive.to_owned());
        let digest = self.within(|| Ok(push(&source, &image, &options)?))?;
        Ok(format!("{}/{}@{digest}", image.registry(), image.repository()))
    }

    /// Changes the faults under a lock, because tests run in parallel.
    fn change_faults<T>(&self, change: impl FnOnce(&mut Faults) -> T) -> Result<T, Error> {
        let directory = self.place().registry();
        let path = directory.join("faults.lock");
        let lock = File::create(&path).map_err(Error::file("create", &path))?;
        lock.lock().map_err(Error::file("lock", &path))?;
        let path = directory.join("faults.json");
        let mut faults = file::read_json::<Faults>(&path)?.unwrap_or_default();
        let changed = change(&mut faults);
        file::write_json(&path, &faults)?;
        Ok(changed)
    }
}
