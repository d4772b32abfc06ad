use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use unlade_testbed::Peers;
use unlade_tests::{peer, shipped};

use crate::tree::Tree;

const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";

/// The result of a run.
struct Copied {
    /// Whether it succeeded.
    is_done: bool,
    /// The files of the destination by their paths. Links are followed within the image.
    files: BTreeMap<String, String>,
    /// The standard error of the run.
    log: String,
}

/// The two programs.
struct Copiers {
    ours: PathBuf,
    theirs: Peers,
}

impl Copiers {
    fn open() -> Self {
        Self { ours: shipped::unpacker(), theirs: peer::programs() }
    }

    /// Runs both programs as OLM does, in this working directory, and returns what each leaves in
    /// `/bundle`.
    fn run(&self, image: impl Fn() -> Tree, working_directory: &str) -> [Copied; 2] {
        [self.ours.clone(), self.theirs.cpb()].map(|program| {
            let image = image().with_program(&program);
            let run = image.run(working_directory, "/bundle");
            let is_done = run.status.success();
            if !is_done {
                println!("{}: {run:?}", program.display());
            }
            let log = String::from_utf8(run.stderr).unwrap();
            Copied { is_done, files: image.files("bundle"), log }
        })
    }
}

/// Creates the file system of a bundle image whose annotations.yaml has these entries.
fn image(annotations: &str) -> Tree {
    Tree::new()
        .with("metadata/annotations.yaml", &format!("annotations: {{{annotations}}}\n"))
        .with("metadata/dependencies.yaml", "dependencies: []\n")
        .with("manifests/csv.yaml", "kind: ClusterServiceVersion\n")
}

impl Tree {
    /// Adds a program as in an image, in `/util`.
    fn with_program(self, program: &Path) -> Self {
        let directory = self.path().join("util");
        fs::create_dir_all(&directory).unwrap();
        // Another process copies the program: a program that is open for writing cannot run, and a
        // child that another test starts in the meantime inherits open files.
        let copy =
            Command::new("install").arg("-m755").arg(program).arg(directory.join("cpb")).status();
        assert!(copy.unwrap().success());
        self
    }

    fn command(&self, working_directory: &str, destination: &str) -> Command {
        let mut command = Command::new("unshare");
        command.arg(format!("--root={}", self.path().display()));
        command.arg(format!("--wd={working_directory}")).args(["/util/cpb", destination]);
        command
    }

    fn run(&self, working_directory: &str, destination: &str) -> std::process::Output {
        self.command(working_directory, destination).output().unwrap()
    }

    /// Returns the files in a directory. Links lead to the same files as in the image.
    fn files(&self, directory: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut pending = vec![self.path().join(directory)];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.path()).unwrap().display().to_string();
                if path.is_dir() {
                    pending.push(path);
                } else {
                    let text = fs::read_to_string(path);
                    files.insert(name, text.unwrap_or_else(|_| "leads out".to_owned()));
                }
            }
        }
        files
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn files_that_upstream_copies_are_copied() {
    let copiers = Copiers::open();
    let named = format!("{MANIFESTS}: deploy/olm/");
    let cases: [(&str, &dyn Fn() -> Tree); 6] = [
        ("as bundles are", &|| image(&format!("{MANIFESTS}: manifests/"))),
        ("manifests elsewhere", &|| image(&named).with("deploy/olm/crd.yaml", "kind: A\n")),
        ("nothing named", &|| image("a: b")),
        ("a file of that name among the manifests", &|| {
            image("a: b").with("manifests/annotations.yaml", "annotations: {c: d}\n")
        }),
        ("a link within", &|| image("a: b").with_link("manifests/again.yaml", "csv.yaml")),
        ("awkward names", &|| {
            image("a: b").with("manifests/.hidden", "").with("manifests/a b:c é.yaml", "x")
        }),
    ];
    for (name, image) in cases {
        let [ours, theirs] = copiers.run(image, "/");
        assert!(ours.is_done && theirs.is_done, "{name}");
        assert_eq!(ours.files, theirs.files, "{name}");
        assert!(!ours.files.contains_key("bundle/metadata/dependencies.yaml"), "{name}");
        assert!(ours.files.len() >= 2, "{name}");
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn annotations_yaml_of_another_program_is_ignored() {
    let copiers = Copiers::open();
    let image =
        || image("a: b").with("usr/share/annotations.yaml", "annotations: {foreign: yes}\n");
    let [ours, theirs] = copiers.run(image, "/");
    assert_eq!(ours.files["bundle/metadata/annotations.yaml"], "annotations: {a: b}\n");
    let foreign = theirs.files["bundle/metadata/annotations.yaml"].contains("foreign");
    assert!(theirs.is_done && foreign, "upstream's takes the last in the file system");
}

/// Upstream's `cpb` fails, or follows the path in the whole file system.
#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn paths_that_lead_nowhere_are_reported_or_refused() {
    let copiers = Copiers::open();
    let missing = format!("{MANIFESTS}: elsewhere/");
    let [ours, theirs] = copiers.run(|| image(&missing), "/");
    assert!(ours.is_done && ours.files.contains_key("bundle/manifests/csv.yaml"), "{}", ours.log);
    let warning = "the path \"elsewhere\" is not used: manifests/ is read";
    assert!(ours.log.starts_with("warning: ") && ours.log.contains(warning), "{}", ours.log);
    assert!(!theirs.is_done);

    for path in ["deploy/../manifests", "../manifests", "metadata/"] {
        let named = format!("{MANIFESTS}: {path}");
        let [ours, theirs] = copiers.run(|| image(&named).with("deploy/olm/crd.yaml", ""), "/");
        assert!(!ours.is_done && ours.files.is_empty(), "{path}");
        assert!(theirs.is_done, "{path}");
    }
}

/// Upstream's `cpb` finds the file anywhere in the file system, and ignores `metadata.v1` too.
#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn metadata_is_read_only_from_its_own_directory() {
    let copiers = Copiers::open();
    let named = "operators.operatorframework.io.bundle.metadata.v1: deploy/meta/";
    let other = "annotations: {c: d}\n";
    let both = || image(named).with("deploy/meta/annotations.yaml", other);
    let [ours, theirs] = copiers.run(both, "/");
    assert!(ours.is_done && theirs.is_done);
    assert!(ours.files["bundle/metadata/annotations.yaml"].contains("deploy/meta"));
    assert!(ours.log.contains("metadata/ is read"), "{}", ours.log);

    let elsewhere = || {
        let image = image(named);
        let path = image.path().join("metadata/annotations.yaml");
        fs::remove_file(path).unwrap();
        image.with("deploy/meta/annotations.yaml", other)
    };
    let [ours, theirs] = copiers.run(elsewhere, "/");
    assert!(!ours.is_done && theirs.is_done);
}

/// `extract` drops it with a warning; upstream's `extract` drops it silently.
#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn a_list_among_the_annotations_does_not_affect_the_copy() {
    let copiers = Copiers::open();
    for annotations in ["a: [b]", "a: {b: c}"] {
        let [ours, theirs] = copiers.run(|| image(annotations), "/");
        assert!(ours.is_done && ours.files.len() == 2, "{}", ours.log);
        assert!(!theirs.is_done, "upstream's takes texts alone");
    }
    let [ours, theirs] = copiers.run(|| image(&format!("{MANIFESTS}: [b]")), "/");
    assert!(!ours.is_done && !theirs.is_done, "of upstream's six it is an error to both");
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn links_out_of_the_bundle_are_refused() {
    let copiers = Copiers::open();
    for target in ["/etc/passwd", "../metadata/dependencies.yaml", "/proc/self/environ"] {
        let image = || image("a: b").with_link("manifests/link.yaml", target);
        let [ours, theirs] = copiers.run(image, "/");
        assert!(!ours.is_done && ours.files.is_empty(), "{target}: {:?}", ours.files);
        let link = theirs.files.contains_key("bundle/manifests/link.yaml");
        assert!(theirs.is_done && link, "upstream's leaves it to the next container: {target}");
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn the_working_directory_of_the_image_does_not_matter() {
    let copiers = Copiers::open();
    let image = || image("a: b").with("app/readme.txt", "");
    let [ours, theirs] = copiers.run(image, "/app");
    assert!(ours.is_done && ours.files.len() == 2, "{:?}", ours.files);
    assert!(theirs.files.is_empty(), "upstream's writes to /app/bundle: {:?}", theirs.files);
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn the_destination_is_the_argument() {
    let copiers = Copiers::open();
    for (program, directory) in
        [(copiers.ours.clone(), "elsewhere"), (copiers.theirs.cpb(), "bundle")]
    {
        let image = image("a: b").with_program(&program);
        assert!(image.run("/", "/elsewhere").status.success());
        let copied = ["elsewhere", "bundle"].map(|directory| image.files(directory).len());
        assert_eq!(copied, if directory == "elsewhere" { [2, 0] } else { [0, 2] });
    }
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root, strace"]
fn nothing_but_the_bundle_is_opened() {
    let copiers = Copiers::open();
    let image = image("a: b")
        .with("etc/passwd", "")
        .with("usr/share/annotations.yaml", "annotations: {}\n")
        .with_program(&copiers.ours);
    let trace = image.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=%file,getdents64", "-o"]).arg(&trace);
    let enter = image.command("/", "/bundle");
    command.arg(enter.get_program()).args(enter.get_args());
    assert!(command.output().unwrap().status.success());
    let trace = fs::read_to_string(trace).unwrap();
    let (_, own) = trace.split_once("execve(\"/util/cpb\"").unwrap();
    let paths: Vec<_> = own.lines().skip(1).filter_map(|line| line.split('"').nth(1)).collect();
    let bundle = ["/", "", ".", "metadata", "manifests", "annotations.yaml", "csv.yaml"];
    // A static program opens these at its start.
    let own_start = ["/proc/self/exe", "/proc/self/maps"];
    let foreign: Vec<_> = paths
        .iter()
        .filter(|path| !bundle.contains(path) && !own_start.contains(path))
        .filter(|path| !path.starts_with("/bundle"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}\n{own}");
    assert!(paths.contains(&"csv.yaml"), "the trace shows nothing:\n{own}");
    // manifests/ alone is listed, to its end.
    assert_eq!(own.matches("getdents64(").count(), 2, "{own}");
}

#[test]
#[ignore = "needs the static unpacker, upstream's programs, root"]
fn a_directory_among_the_manifests_is_refused_by_either_program() {
    let copiers = Copiers::open();
    let image = || image("a: b").with("manifests/nested/csv.yaml", "");
    let [ours, theirs] = copiers.run(image, "/");
    assert!(!ours.is_done && ours.files.is_empty());
    assert!(theirs.is_done && theirs.files.contains_key("bundle/manifests/nested/csv.yaml"));
}
