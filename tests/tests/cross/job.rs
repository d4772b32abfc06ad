use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Compression, Entry, Image, Layer};
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::corpus::{self, Sample};
use unlade_tests::olm::{Olm, Unpack};
use unlade_tests::peer::Peer;
use unlade_tests::shipped;

use crate::compare::Pair;

/// The deadline for all Jobs together.
const PATIENCE: &str = "--timeout=300s";

/// A bundle that is unpacked.
struct Bundle<'s> {
    /// The rule by which it was chosen.
    rule: &'static str,
    sample: &'s Sample,
    image: String,
    /// Whether the Job uses `-z`, as OLM's always does.
    is_compressed: bool,
}

/// Bundles of different kinds, none chosen by its name.
fn choose(samples: &[Sample]) -> Vec<(&'static str, &Sample, bool)> {
    let fits = |sample: &&Sample| {
        sample.golden.error.is_none()
            && sample.golden.gzip.as_ref().is_some_and(|golden| golden.error.is_none())
    };
    let size = |sample: &&Sample| sample.files().iter().map(|file| file.bytes.len()).sum::<usize>();
    let real = || samples.iter().filter(fits).filter(|sample| !sample.is_crafted());
    let crafted = || samples.iter().filter(fits).filter(|sample| sample.is_crafted());
    let has_metadata = |sample: &&Sample| {
        let others = |entry: fs::DirEntry| entry.file_name() != "annotations.yaml";
        fs::read_dir(sample.path.join("metadata")).unwrap().flatten().any(others)
    };
    let has_link = |sample: &&Sample| {
        let dir = fs::read_dir(sample.path.join("manifests"));
        dir.into_iter().flatten().flatten().any(|entry| entry.path().is_symlink())
    };
    let loses_a_file = |sample: &&Sample| {
        let n_keys = sample.golden.gzip.as_ref().map_or(0, |golden| golden.keys.len());
        let is_data = |file: &&unlade_bundle::File| file.name != "annotations.yaml";
        n_keys > 0 && sample.files().iter().filter(is_data).count() > n_keys
    };
    [
        ("the smallest", real().min_by_key(size), true),
        ("the smallest, uncompressed", real().min_by_key(size), false),
        ("the largest that fits", real().max_by_key(size), true),
        ("the most files", real().max_by_key(|sample| sample.files().len()), true),
        ("more in metadata/", real().filter(has_metadata).min_by_key(size), true),
        ("a link", crafted().find(has_link), true),
        ("files of one key", crafted().find(loses_a_file), true),
    ]
    .into_iter()
    .map(|(rule, sample, is_compressed)| {
        (rule, sample.unwrap_or_else(|| panic!("no bundle with {rule}")), is_compressed)
    })
    .collect()
}

/// Creates an image of the directory as it is, including its links.
fn image(directory: &Path) -> Image {
    let mut entries = Vec::new();
    for dir in ["manifests", "metadata"] {
        let path = directory.join(dir);
        if path.is_symlink() {
            continue;
        }
        for entry in fs::read_dir(path).unwrap().flatten() {
            let name = format!("{dir}/{}", entry.file_name().to_str().unwrap());
            entries.push(match fs::read_link(entry.path()) {
                Ok(target) => Entry::link(name, target.to_str().unwrap()),
                Err(_) => Entry::file(name, fs::read(entry.path()).unwrap()),
            });
        }
    }
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new(entries).compressed(Compression::Gzip));
    image
}

#[test]
#[ignore = "needs a testbed, OLM's programs, upstream's programs, the published bundles"]
fn cluster_olms_job_fills_the_same_config_map_with_our_images() {
    let cluster = Cluster::open_testbed();
    let our_image = cluster.push_unpacker();
    let olm = Olm::open(&cluster);
    let mut peer = Peer::open();
    let samples = corpus::all();
    let chosen = choose(&samples).into_iter().enumerate();
    let bundles: Vec<_> = chosen
        .map(|(at, (rule, sample, is_compressed))| {
            let image = cluster.push(&image(&sample.path), &format!("cross/bundle-{at}:1"));
            Bundle { rule, sample, image, is_compressed }
        })
        .collect();

    let namespace = cluster.namespace("cross-job");
    start(&cluster, &namespace, &olm, "theirs", &bundles);
    let olm = olm.with_images(our_image.clone(), our_image);
    start(&cluster, &namespace, &olm, "ours", &bundles);
    namespace
        .kubectl(["wait", "--for=jsonpath={.status.conditions}", PATIENCE, "--all", "jobs"])
        .unwrap();
    for job in namespace.list("jobs") {
        let conditions = job["status"]["conditions"].as_array().unwrap();
        // The latter comes first, while its pods still end.
        let is_failed = |condition: &Value| {
            matches!(condition["type"].as_str(), Some("Failed" | "FailureTarget"))
        };
        assert!(!conditions.iter().any(is_failed), "{job:#}");
    }

    for (at, bundle) in bundles.iter().enumerate() {
        let [theirs, ours] = ["theirs", "ours"]
            .map(|side| namespace.get(&format!("configmap/{side}-{at}")).unwrap());
        let what = format!("{}: {}", bundle.rule, bundle.sample.name);
        let directory = &bundle.sample.path;
        let pair = Pair { theirs: &theirs, ours: &ours, directory };
        let mut found = pair.differences(&mut peer);
        assert!(found.remove("name"), "{what}");
        assert!(found.is_empty(), "{what}: {found:?}");
        let csv = peer.load(&ours).unwrap().csv_name;
        assert_eq!(csv, bundle.sample.golden.load.as_ref().unwrap().csv_name, "{what}");
        println!("{what}: {csv}, the same");
    }
}

/// Creates the objects of OLM's Jobs for all bundles.
fn start(
    cluster: &Cluster,
    namespace: &Namespace<'_>,
    olm: &Olm,
    side: &str,
    bundles: &[Bundle<'_>],
) {
    let names: Vec<_> = (0..bundles.len()).map(|at| format!("{side}-{at}")).collect();
    let unpacks: Vec<_> = names
        .iter()
        .zip(bundles)
        .map(|(name, bundle)| Unpack { name, namespace: namespace.name(), bundle: &bundle.image })
        .collect();
    let apply = |items: Vec<Value>| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        cluster.kubectl().apply(&list).unwrap();
    };
    apply(unpacks.iter().map(Unpack::config_map).collect());
    let config_maps = namespace.list("configmaps");
    let mut items = Vec::new();
    for (unpack, bundle) in unpacks.iter().zip(bundles) {
        let of_name = |object: &&Value| object["metadata"]["name"] == unpack.name;
        let config_map = config_maps.iter().find(of_name).unwrap();
        let uid = config_map["metadata"]["uid"].as_str().unwrap();
        items.extend(unpack.access(uid));
        let mut job = unpack.job(olm, uid);
        if !bundle.is_compressed {
            let command = &mut job["spec"]["template"]["spec"]["containers"][0]["command"];
            command.as_array_mut().unwrap().retain(|word| word != "-z");
        }
        items.push(job);
    }
    apply(items);
}

/// This needs no cluster, but the programs of OLM, which are built together with those of a
/// testbed.
#[test]
#[ignore = "needs a testbed, OLM's programs"]
fn cluster_flags_that_opm_refuses_are_refused() {
    let cluster = Cluster::open_testbed();
    let olm = Olm::open(&cluster);
    let ours = shipped::unpacker();
    let first_line = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.arg0("opm").args(["alpha", "bundle", "extract"]).args(args);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_eq!(output.stdout, b"", "{args:?}");
        String::from_utf8(output.stderr).unwrap().lines().next().unwrap().to_owned()
    };
    // The arguments, and the part of them that both messages name.
    for (args, named) in [
        (&["-l", "1Mi"][..], "1Mi"),
        (&["--datalimit=18446744073709551616"], "18446744073709551616"),
        (&["--gzip=perhaps"], "perhaps"),
        (&["-z=2"], "2"),
        (&["--debug=no"], "no"),
        (&["--no-such"], "--no-such"),
        (&["-x"], "x"),
        (&["-zx"], "x"),
        (&["-n"], "n"),
        (&["--configmapname"], "--configmapname"),
    ] {
        let (message, theirs) = (first_line(&ours, args), first_line(&olm.program("opm"), args));
        assert!(message.starts_with("error: opm: ") && message.contains(named), "{message}");
        assert!(theirs.starts_with("Error: ") && theirs.contains(named), "{theirs}");
    }
}
