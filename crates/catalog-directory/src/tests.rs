use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use unlade_catalog::{Rule, Severity};

use super::*;

/// Returns a package with one channel and one bundle, which is named after its package.
fn package(name: &str) -> String {
    format!(
        "schema: olm.package\nname: {name}\ndefaultChannel: stable\n---\n\
         schema: olm.channel\nname: stable\npackage: {name}\nentries: [{{name: {name}.v1}}]\n---\n\
         schema: olm.bundle\nname: {name}.v1\npackage: {name}\nimage: example.com/{name}\n\
         properties:\n- type: olm.package\n  value: {{packageName: {name}, version: 1.0.0}}\n"
    )
}

fn write(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn read_all(root: &TempDir) -> Reading {
    read(root.path(), &Limits::default()).unwrap()
}

fn rules(reading: &Reading) -> Vec<(Rule, String)> {
    let place = |problem: &Problem| format!("{}:{}", problem.place.file, problem.place.line);
    reading.problems.iter().map(|problem| (problem.rule, place(problem))).collect()
}

#[test]
fn every_file_is_read_in_the_order_of_its_path() {
    let (a, b, c) = (package("a"), package("b"), package("c"));
    let root = write(&[("b.txt", &b), (".hidden/x", &a), ("z/y/c.json", &c), ("empty", "")]);
    let reading = read_all(&root);
    assert_eq!(rules(&reading), []);
    let names: Vec<_> = reading.catalog.packages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, reading.n_files), (vec!["a", "b", "c"], 4));
}

#[test]
fn ignored_files_are_not_opened() {
    let root =
        write(&[("c.yaml", &package("a")), ("a/README.md", "# x"), (".indexignore", "*.md\n/l")]);
    symlink("nowhere", root.path().join("l")).unwrap();
    let reading = read_all(&root);
    assert_eq!((rules(&reading), reading.n_files), (vec![], 1));
}

#[test]
fn a_link_leads_only_to_a_file_inside() {
    let root = write(&[("a/c.yaml", &package("a"))]);
    symlink("a/c.yaml", root.path().join("file")).unwrap();
    symlink("a", root.path().join("linked")).unwrap();
    symlink("/etc/passwd", root.path().join("outside")).unwrap();
    symlink("../../../../etc/passwd", root.path().join("a/up")).unwrap();
    symlink("nowhere", root.path().join("dangling")).unwrap();
    let reading = read_all(&root);
    let found = rules(&reading);
    for name in ["linked:0", "outside:0", "a/up:0", "dangling:0"] {
        assert!(found.contains(&(Rule::Unreadable, name.to_owned())), "{name} {found:?}");
    }
    assert_eq!(found.iter().filter(|(rule, _)| *rule == Rule::Unreadable).count(), 4);
    let linked = reading.problems.iter().find(|problem| problem.place.file.as_ref() == "linked");
    let message = &linked.unwrap().message;
    assert!(message.contains("linked is a directory, not a regular file"), "{message}");
}

#[test]
fn a_file_that_does_not_belong_to_the_catalog_is_named() {
    let root = write(&[("a/c.yaml", &package("a"))]);
    assert_eq!(files(root.path(), &Limits::default()).unwrap().len(), 1);
    symlink("a", root.path().join("linked")).unwrap();
    let error = files(root.path(), &Limits::default()).unwrap_err();
    assert_eq!(
        unlade_text::chain(&error),
        "failed to read linked: linked is a directory, not a regular file"
    );
}

#[test]
fn a_fifo_is_refused_and_not_opened() {
    let root = write(&[]);
    let status = std::process::Command::new("mkfifo").arg(root.path().join("f")).status().unwrap();
    assert!(status.success());
    let reading = read_all(&root);
    assert_eq!(rules(&reading), [(Rule::Unreadable, "f:0".to_owned())]);
    assert!(reading.problems[0].message.contains("FIFO"), "{:?}", reading.problems);
}

#[test]
fn a_device_is_refused_and_not_opened() {
    let root = write(&[]);
    symlink("/dev/zero", root.path().join("zero")).unwrap();
    assert_eq!(rules(&read_all(&root)), [(Rule::Unreadable, "zero:0".to_owned())]);
    let error = read("/dev/zero".as_ref(), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Root { .. }), "{error:?}");
}

#[test]
fn problems_have_the_line_of_their_value() {
    let text = package("a").replace("version: 1.0.0", "version: v1");
    let root = write(&[("c/a.yaml", &format!("---\n{text}")), ("b.json", "{\n\"schema\": 1}\n")]);
    let reading = read_all(&root);
    assert_eq!(
        rules(&reading),
        [(Rule::NotAMeta, "b.json:2".to_owned()), (Rule::Version, "c/a.yaml:17".to_owned())]
    );
    assert!(reading.problems.iter().all(|problem| problem.severity == Severity::Error));
}

#[test]
fn one_and_many_threads_find_the_same() {
    let texts: Vec<_> = (0..30).map(|n| package(&format!("p{n}.x"))).collect();
    let names: Vec<_> = (0..30).map(|n| format!("{}/f{n}", n % 4)).collect();
    let files: Vec<_> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let root = write(&files);
    let with = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let limits = Limits { threads, ..Limits::default() };
        read(root.path(), &limits).unwrap().problems
    };
    assert_eq!(with(1), with(8));
    assert_eq!(with(1).len(), 30);
}

#[test]
fn limits_are_enforced() {
    let root = write(&[("a/b", ""), ("c", ""), (".indexignore", "x\ny\n")]);
    let limits = Limits { entries: 3, ..Limits::default() };
    assert!(matches!(read(root.path(), &limits), Err(Error::Entries { limit: 3 })));
    let limits = Limits { patterns: 1, ..Limits::default() };
    assert!(matches!(read(root.path(), &limits), Err(Error::Patterns { limit: 1 })));
    // Two patterns of one byte, and the paths `a/b` and `c`.
    let limits = Limits { pattern_work: 7, ..Limits::default() };
    assert!(matches!(read(root.path(), &limits), Err(Error::PatternWork { n_files: 2 })));
    let limits = Limits { pattern_work: 8, ..Limits::default() };
    assert_eq!(read(root.path(), &limits).unwrap().n_files, 2);
}

#[test]
fn records_of_all_files_together_are_limited() {
    let root = write(&[("a", &package("a")), ("b", &package("b"))]);
    let mut limits = Limits::default();
    limits.catalog.records = 1_000;
    let error = read(root.path(), &limits).unwrap_err();
    assert!(matches!(error, Error::Records { limit: 1_000 }), "{error}");
    assert!(error.is_limit());
    let error = visit_metas(root.path(), &limits, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Records { limit: 1_000 }), "{error}");
    limits.catalog.records = 10_000;
    assert_eq!(read(root.path(), &limits).unwrap().problems, []);
}

#[test]
fn patterns_are_counted_before_they_are_kept() {
    let long = format!("{}\n", "a/*".repeat(20_000));
    let root = write(&[(".indexignore", &long.repeat(17)), ("b", ""), (".indexignored", "")]);
    let limit = 1 << 20;
    assert_eq!(read_all(&root).n_files, 2);
    fs::write(root.path().join(".indexignore"), long.repeat(17)).unwrap();
    fs::create_dir(root.path().join("d")).unwrap();
    fs::write(root.path().join("d/.indexignore"), &long).unwrap();
    let error = read(root.path(), &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::PatternSize { limit: found } if found == limit), "{error}");
    assert!(error.is_limit());
}

#[test]
fn the_documents_of_a_file_share_the_budget_for_lines() {
    let document = format!(
        "{{\"schema\": \"olm.package\", \"name\": \"x\",\n \"z\": [{}0]}}\n",
        "0,".repeat(100)
    );
    let root = write(&[("a.json", &document.repeat(3))]);
    let lines = |work| {
        let mut limits = Limits::default();
        limits.catalog.document.work = work;
        let problems = read(root.path(), &limits).unwrap().problems;
        let unknown = problems.iter().filter(|it| it.message.contains("z is unknown"));
        unknown.map(|problem| problem.place.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(1 << 20), [2, 4, 6]);
    // Each byte adds 6 units to the budget. Here it costs 20 units as JSON, which suffices to read
    // the file, and 12 more as YAML.
    assert_eq!(lines(12_000), [2, 3, 5]);
}

/// A budget for each file would not bound the work, because a catalog can have any number of them.
#[test]
fn files_share_the_work_of_the_catalog() {
    let text = format!("schema: x\na: {}{}{}\n", "[".repeat(100), "a,".repeat(50), "]".repeat(100));
    let mut limits = Limits::default();
    limits.catalog.document.work = 40_000;
    let rules = |names: &[&str]| {
        let root = write(&names.iter().map(|name| (*name, text.as_str())).collect::<Vec<_>>());
        rules(&read(root.path(), &limits).unwrap()).into_iter().map(|(rule, _)| rule)
    };
    assert_eq!(rules(&["a"]).count(), 0);
    assert!(rules(&["a", "b", "c", "d"]).eq([Rule::Limit; 4]));
}

/// Links multiply a file without making the catalog larger.
#[test]
fn a_file_counts_for_each_of_its_names() {
    let text = "{\"schema\": \"x\"}\n".repeat(10);
    let root = write(&[("a", &text), (".indexignore", "ignored")]);
    fs::hard_link(root.path().join("a"), root.path().join("b")).unwrap();
    symlink("a", root.path().join("c")).unwrap();
    symlink("/proc/kcore", root.path().join("outside")).unwrap();
    fs::hard_link(root.path().join("a"), root.path().join("ignored")).unwrap();
    let size = text.len() as u64;
    let limits = |bytes| Limits { bytes, ..Limits::default() };
    assert_eq!(read(root.path(), &limits(3 * size)).unwrap().n_files, 4);
    let error = read(root.path(), &limits(3 * size - 1)).unwrap_err();
    assert!(matches!(error, Error::Size { .. }) && error.is_limit(), "{error}");
    let file = root.path().join("a");
    assert_eq!(read(&file, &limits(size)).unwrap().n_files, 1);
    assert!(matches!(read(&file, &limits(size - 1)), Err(Error::Size { .. })));
    // A file that is not written yet counts, too.
    let mut changes = Changes::new(root.path(), &limits(3 * size));
    changes.append("d", "{\"schema\":\"x\"}").unwrap();
    assert!(matches!(changes.validate_and_visit(|_, _| {}), Err(Error::Size { .. })));
}

#[test]
fn a_single_file_is_a_catalog() {
    let root = write(&[("c.yaml", "schema: olm.package\n")]);
    let reading = read(&root.path().join("c.yaml"), &Limits::default()).unwrap();
    assert_eq!(reading.problems[0].place.file.as_ref(), "c.yaml");
    let missing = read(&root.path().join("none"), &Limits::default());
    assert!(matches!(missing, Err(Error::Root { .. })));
}
