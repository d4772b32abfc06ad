//! `cargo xtask bench registry`: bundles in a registry, compared with skopeo and opm.

use std::{
    fs::File,
    net::{TcpListener, TcpStream},
    path::Path,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use unlade_name::ImageReference;
use unlade_oci::{
    Limits, Platform, Source,
    build::{Compression, bundle, write},
};
use unlade_registry::{Options, push};
use unlade_testbed::Settings;

use super::{
    Report, directory, peer, sample,
    table::{self, Task},
    with,
};
use crate::{
    cluster,
    command::{Error, is_on_path},
};

/// The time in which the registry has to accept connections.
const START: Duration = Duration::from_secs(30);

/// The largest number of times that all bundles are rendered, which takes long.
const ROUNDS_OF_ALL: usize = 3;

/// Measures how bundles are read from a registry on this machine. The registry is that of the
/// testbed, without a testbed. Neither side keeps anything between its runs. Without skopeo, the
/// rows that need it have no figures of it.
pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let all = sample::all()?;
    let unlade = super::release_build()?;
    let opm = peer::build_opm()?;
    let has_skopeo = is_on_path("skopeo");
    if !has_skopeo {
        eprintln!("SKIPPED: skopeo, because it is not on the PATH");
    }
    let directory = directory("registry")?;
    let registry = Registry::start(&directory)?;
    let mut images = Vec::new();
    for (number, bundle) in all.iter().enumerate() {
        images.push(registry.add(&bundle.path, number, &directory)?);
    }
    let ours = |words: &[&str], images: &[String]| {
        let mut command = with(&unlade, words);
        command.args(["--plain-http", "--blob-cache-size=0"]).args(images);
        command
    };
    let shell = |script: String| with("/bin/sh", ["-ec", &script]);
    let render = |image: &String| format!("'{}' render --use-http {image}", opm.display());

    let mut rows = table::HEADING.to_owned();
    for at in sample::measured(&all) {
        let (Some(bundle), Some(image)) = (all.get(at), images.get(at)) else { continue };
        let unpack = || ours(&["unpack", "-o", "yaml"], std::slice::from_ref(image));
        let copy = |program: &str| {
            shell(format!("d=$(mktemp -d); {program} docker://{image} oci:$d/x; rm -r $d"))
        };
        let our_copy = copy(&format!("'{}' copy --quiet --plain-http", unlade.display()));
        let their_copy = || copy("skopeo copy --quiet --insecure-policy --src-tls-verify=false");
        let skopeo = || has_skopeo.then(their_copy);
        let tasks = [
            ("unpack, and `opm render`", unpack(), Some(shell(render(image)))),
            ("copy, and `skopeo copy`", our_copy, skopeo()),
            ("unpack, and `skopeo copy`", unpack(), skopeo()),
        ];
        for (name, ours, theirs) in tasks {
            rows += &table::compare(&Task { name, ours, theirs }, &bundle.label, n_rounds)?.row;
        }
    }
    let calls: Vec<_> = images.iter().map(render).collect();
    let task = Task {
        name: "render in one call, and one call of `opm render` each",
        ours: ours(&["catalog", "render"], &images),
        // A shell script as an argument may have 128 KiB (`MAX_ARG_STRLEN`).
        theirs: Some(shell(calls.join("; "))),
    };
    let label = format!("all {}", images.len());
    rows += &table::compare(&task, &label, n_rounds.min(ROUNDS_OF_ALL))?.row;
    let text = include_str!("note/registry.md.in").replace("{registry}", &rows);
    Ok(Report { goals: Vec::new(), text })
}

/// A registry on this machine, which ends when it is dropped.
struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    /// Starts an empty registry with its files in `directory`.
    fn start(directory: &Path) -> Result<Self, Error> {
        let file = Error::file(directory);
        let program = unlade_testbed::registry_program(
            &Settings::from_env()?.cache,
            &mut cluster::print_line,
        )?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.map_err(file)?.to_string();
        let config = directory.join("config.yml");
        // JSON, which is YAML.
        let text = serde_json::json!({
            "version": "0.1",
            "log": {"level": "warn", "accesslog": {"disabled": true}},
            "storage": {"filesystem": {"rootdirectory": directory.join("images")}},
            "http": {"addr": address},
        });
        std::fs::write(&config, text.to_string()).map_err(file)?;
        let mut command = with(&program, ["serve".as_ref(), config.as_os_str()]);
        command.stderr(File::create(directory.join("log")).map_err(file)?);
        let process = command
            .spawn()
            .map_err(|source| Error::Start { program: program.display().to_string(), source })?;
        let mut registry = Self { process, address };
        let begin = Instant::now();
        loop {
            let is_accepting = TcpStream::connect(&registry.address).is_ok();
            // Another program can have taken the port.
            let has_ended = registry.process.try_wait().map_err(file)?.is_some();
            if has_ended || begin.elapsed() > START {
                let log = directory.join("log");
                return Err(Error::Found(format!("the registry did not start: {}", log.display())));
            }
            if is_accepting {
                return Ok(registry);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Builds the image of a bundle, pushes it, and returns its name.
    fn add(&self, bundle: &Path, number: usize, directory: &Path) -> Result<String, Error> {
        let archive = directory.join("image.tar");
        let fails = |error: &dyn std::error::Error| {
            Error::Found(format!("{}: {}", bundle.display(), unlade_text::chain(error)))
        };
        let limits = Limits::default().content;
        let mut image = bundle::image(bundle, Platform::host(), &limits).map_err(|e| fails(&e))?;
        for layer in &mut image.layers {
            layer.compression = Compression::Gzip;
        }
        let output = format!("oci-archive:{}", archive.display());
        write(&image, &output.parse().map_err(|e| fails(&e))?)?;
        let name = format!("{}/bench/bundle{number}:v1", self.address);
        let reference: ImageReference = name.parse().map_err(|e| fails(&e))?;
        let options = Options::default().with_plain_http(true);
        push(&Source::Path(archive), &reference, &options)?;
        Ok(name)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may already have ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
