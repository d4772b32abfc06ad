use std::fmt::Write as _;

use unlade_yaml::Step;

use super::*;
use crate::{FileReader, Limits, MAX_PROBLEM_TEXT, MAX_PROBLEMS, Severity, locate};

/// A valid catalog, to which the tests add.
const VALID: &str = "
schema: olm.package
name: tea
defaultChannel: stable
---
schema: olm.channel
name: stable
package: tea
entries:
- name: tea.v1.1.0
  replaces: tea.v1.0.0
- name: tea.v1.0.0
---
schema: olm.bundle
name: tea.v1.0.0
package: tea
image: registry.example/tea:1.0.0
properties:
- type: olm.package
  value: {packageName: tea, version: 1.0.0}
---
schema: olm.bundle
name: tea.v1.1.0
package: tea
image: registry.example/tea:1.1.0
properties:
- type: olm.package
  value: {packageName: tea, version: 1.1.0}
";

/// Validates a catalog of one file. Returns the line of the document, the rule and the message of
/// each problem.
fn problems(text: &str) -> Vec<(u64, Rule, String)> {
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problems = catalog.validate().into_iter();
    problems.map(|problem| (problem.place.line, problem.rule, problem.message)).collect()
}

/// Returns the rules that `VALID` breaks if `from` is replaced by `to`.
fn rules(from: &str, to: &str) -> Vec<Rule> {
    assert!(VALID.contains(from), "{from}");
    problems(&VALID.replacen(from, to, 1)).into_iter().map(|(_, rule, _)| rule).collect()
}

#[test]
fn an_image_without_a_name_does_not_move_the_places_of_the_others() {
    let images = "relatedImages: [{image: ''}, {image: a//b}]\nimage: r";
    let mut catalog = Catalog::default();
    let text = VALID.replacen("image: r", images, 1);
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problems = catalog.validate();
    assert!(matches!(&*problems, [problem] if problem.place.path.contains(&Step::Item(1))));
}

#[test]
fn a_valid_catalog_has_no_problems() {
    assert_eq!(problems(VALID), []);
    assert_eq!(problems(""), []);
}

#[test]
fn the_order_in_which_files_are_added_has_no_effect_on_a_sorted_catalog() {
    let validate = |paths: [&str; 2]| {
        let mut catalog = Catalog::default();
        for path in paths {
            catalog.add(File::read(path, VALID.as_bytes(), &Limits::default()));
        }
        catalog.sort_by_file();
        catalog.validate()
    };
    let problems = validate(["a.yaml", "b.yaml"]);
    assert!(problems.iter().any(|it| it.rule == Rule::DuplicatePackage), "{problems:?}");
    assert_eq!(validate(["b.yaml", "a.yaml"]), problems);
}

#[test]
fn each_change_breaks_its_rule() {
    for (from, to, expected) in [
        (
            "name: tea\n",
            "name: Tea\n",
            vec![
                Rule::PackageName,
                Rule::DefaultChannel,
                Rule::UnknownPackage,
                Rule::UnknownPackage,
                Rule::UnknownPackage,
            ],
        ),
        ("defaultChannel: stable", "defaultChannel: beta", vec![Rule::DefaultChannel]),
        ("defaultChannel: stable", "description: d", vec![Rule::DefaultChannel]),
        ("  replaces: tea.v1.0.0", "  skipRange: <1.1.0", vec![Rule::SeveralHeads]),
        ("  replaces: tea.v1.0.0", "  skips: [tea.v1.0.0, '']", vec![Rule::EmptySkip]),
        (
            "  replaces: tea.v1.0.0",
            "  skips: [tea.v1.0.0]\n  skipRange: ^1.0.0",
            vec![Rule::SkipRange],
        ),
        (
            "- name: tea.v1.0.0\n",
            "- name: tea.v1.0.0\n- name: tea.v1.0.0\n",
            vec![Rule::DuplicateEntry],
        ),
        ("- name: tea.v1.0.0\n", "", vec![Rule::BundleWithoutEntry]),
        ("replaces: tea.v1.0.0", "replaces: tea.v1.1.0\n  skipRange: ''", vec![Rule::Stranded]),
        ("image: registry.example/tea:1.0.0\n", "", vec![Rule::Image]),
        (
            "image: registry.example/tea:1.0.0",
            "image: registry.example/Tea",
            vec![Rule::ImageReference],
        ),
        ("version: 1.0.0", "version: v1.0.0", vec![Rule::Version]),
        ("version: 1.0.0", "version: 1.0", vec![Rule::PropertyValue, Rule::PackageProperty]),
        ("version: 1.0.0", "version: 1.1.0", vec![Rule::DuplicateVersion]),
        ("version: 1.0.0", "version: 1.0.0, release: '1'", vec![Rule::BundleName]),
        (
            "{packageName: tea, version: 1.0.0}",
            "{packageName: ta, version: 1.0.0}",
            vec![Rule::PackageProperty],
        ),
        ("- type: olm.package\n", "- type: olm.packages\n", vec![Rule::PackageProperty]),
        (
            "properties:\n",
            "properties:\n- type: olm.gvk\n  value: {kind: 1}\n",
            vec![Rule::PropertyValue],
        ),
        ("properties:\n", "properties:\n- type: x\n", vec![Rule::PropertyValue]),
        ("image: r", "relatedImages: [{image: a//b}]\nimage: r", vec![Rule::ImageReference]),
        ("properties:\n", "propertis: []\nproperties:\n", vec![Rule::UnknownField]),
        ("entries:\n", "entires: []\nentries:\n", vec![Rule::UnknownField]),
        (
            "schema: olm.bundle\n",
            "schema: olm.package\n",
            vec![
                Rule::DefaultChannel,
                Rule::NoChannel,
                Rule::EntryWithoutBundle,
                Rule::PackageName,
                Rule::UnknownField,
                Rule::UnknownField,
            ],
        ),
    ] {
        let mut found = rules(from, to);
        found.sort();
        let mut expected = expected;
        expected.sort();
        assert_eq!(found, expected, "{from:?} -> {to:?}");
    }
}

#[test]
fn a_first_part_of_an_image_that_cannot_be_a_registry_belongs_to_the_repository() {
    let with_image = |image: &str| rules("registry.example/tea:1.0.0", image);
    let long = |len: usize| format!("a_b.c/{}", "x".repeat(len - "a_b.c/".len()));
    for image in
        ["my_registry.example.com/tea/bundle:1", "a_b.c/x", "a__b.c/x", "a.b.c_d/e", &long(255)]
    {
        assert_eq!(with_image(image), [], "{image}");
    }
    for image in ["a_b:5000/x", "A_b.c/x", "a_.b/x", "a_b.c/X", &long(256)] {
        assert_eq!(with_image(image), [Rule::ImageReference], "{image}");
    }
}

#[test]
fn all_problems_are_found_at_once_in_the_order_of_their_places() {
    let text = VALID.replace("image: registry.example/tea:1.0.0\n", "").replace("1.1.0}", "x}");
    let found = problems(&text);
    let places: Vec<_> = found.iter().map(|(line, rule, _)| (*line, *rule)).collect();
    assert_eq!(places, [(14, Rule::Image), (21, Rule::Version)]);
}

#[test]
fn a_problem_is_located_at_the_line_of_its_value() {
    let text = VALID.replace("version: 1.0.0", "version: v1");
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problem = catalog.validate().remove(0);
    let document = text.split("---\n").nth(2).unwrap();
    let mut place = problem.place;
    let reader = unlade_yaml::Reader::new(&Limits::default().document);
    locate(&mut [&mut place], document.as_bytes(), &reader);
    assert_eq!((place.document, place.line), (14, 20));
}

/// opm reads only the first object, and loses the second.
#[test]
fn content_that_opm_drops_is_a_warning() {
    let text = "---\n{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n";
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problem = catalog.validate().remove(0);
    assert_eq!((problem.rule, problem.place.line), (Rule::LostDocument, 3));
    assert_eq!(problem.severity, Severity::Warning);
}

#[test]
fn an_unreadable_document_hides_no_problem_and_invents_none() {
    let text =
        VALID.replacen("name: tea\n", "name: [\n", 1).replace("version: 1.0.0", "version: v1");
    let found: Vec<_> = problems(&text).into_iter().map(|(_, rule, _)| rule).collect();
    assert_eq!(found, [Rule::Syntax, Rule::Version]);
}

#[test]
fn deprecations_refer_to_what_exists() {
    let deprecate = |entry: &str| {
        let text =
            format!("{VALID}---\nschema: olm.deprecations\npackage: tea\nentries:\n- {entry}\n");
        problems(&text).into_iter().map(|(_, rule, _)| rule).collect::<Vec<_>>()
    };
    for (entry, expected) in [
        ("{reference: {schema: olm.package}, message: m}", vec![]),
        ("{reference: {schema: olm.channel, name: stable}, message: m}", vec![]),
        ("{reference: {schema: olm.bundle, name: tea.v1.0.0}, message: m}", vec![]),
        ("{reference: {schema: olm.package}}", vec![Rule::DeprecationMessage]),
        (
            "{reference: {schema: olm.package, name: tea}, message: m}",
            vec![Rule::DeprecationReference],
        ),
        (
            "{reference: {schema: olm.channel, name: beta}, message: m}",
            vec![Rule::DeprecationReference],
        ),
        (
            "{reference: {schema: olm.bundle, name: beta}, message: m}",
            vec![Rule::DeprecationReference],
        ),
        ("{reference: {schema: custom}, message: m}", vec![Rule::DeprecationReference]),
        ("{message: m}", vec![Rule::DeprecationReference]),
    ] {
        assert_eq!(deprecate(entry), expected, "{entry}");
    }
}

#[test]
fn warnings_that_are_left_out_do_not_make_a_catalog_invalid() {
    // A document has at most 100 warnings about its fields.
    let n_bundles = MAX_PROBLEMS / 100 + 1;
    let fields = (0..100).fold(String::new(), |text, n| text + &format!("f{n}: x\n"));
    let mut text = "schema: olm.package\nname: tea\ndefaultChannel: stable\n---\n\
                    schema: olm.channel\npackage: tea\nname: stable\nentries:\n"
        .to_owned();
    for n in 0..n_bundles {
        _ = writeln!(text, "- {{name: b{n}, replaces: b{}}}", n.wrapping_sub(1));
    }
    for n in 0..n_bundles {
        _ = writeln!(text, "---\nschema: olm.bundle\npackage: tea\nname: b{n}\nimage: a/b:1");
        let value = format!("{{packageName: tea, version: 1.0.{n}}}");
        _ = write!(text, "properties: [{{type: olm.package, value: {value}}}]\n{fields}");
    }
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problems = catalog.validate();
    assert_eq!(problems.len(), MAX_PROBLEMS + 1, "{:?}", problems.last());
    assert!(problems.iter().all(|problem| problem.severity == Severity::Warning));
    let last = problems.last().unwrap().to_string();
    assert_eq!(last, "c.yaml: 100 more warnings of the catalog are not listed");
    let mut sorted = problems.clone();
    sorted.sort();
    assert_eq!(sorted, problems, "what is not listed stays last");
}

#[test]
fn problems_in_a_file_with_a_long_path_are_fewer() {
    let n_problems = |path: &str| {
        let mut catalog = Catalog::default();
        let text = "---\nname: a\n".repeat(5_000);
        catalog.add(File::read(path, text.as_bytes(), &Limits::default()));
        catalog.validate().len()
    };
    assert_eq!(n_problems("c.yaml"), 5_000);
    assert!(n_problems(&"d/".repeat(2_000)) <= MAX_PROBLEM_TEXT / 4_000 + 1);
    // The last one counts the others.
    assert_eq!(n_problems(&"d".repeat(MAX_PROBLEM_TEXT)), 2);
}

#[test]
fn long_unknown_fields_count_as_text_and_are_not_compared() {
    // Aliases repeat the field in little text.
    let field = "k".repeat(100_000);
    let property = format!("{{type: olm.csv.metadata, value: {{? {field} : 1}}}}");
    let aliases = ", *p".repeat(100);
    let text = format!(
        "schema: olm.bundle\nname: b\npackage: p\nimage: i\nproperties: [&p {property}{aliases}]\n"
    );
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let problems = catalog.validate();
    let unknown = problems.iter().filter(|it| it.message.contains("(olm.csv.metadata)"));
    let n_unknown = unknown.count();
    assert!((1..=MAX_PROBLEM_TEXT / 100_000).contains(&n_unknown), "{n_unknown}");
}

#[test]
fn errors_that_are_left_out_prevent_loading_only_if_their_rules_do() {
    let n_loading_problems = |document: &str| {
        let text = format!("---\n{document}").repeat(MAX_PROBLEMS + 1);
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        assert!(catalog.validate().len() > MAX_PROBLEMS);
        catalog.loading_problems().len()
    };
    let bundle = "schema: olm.bundle\npackage: tea\nname: a\nimage: a/b:1\n";
    assert_eq!(n_loading_problems(bundle), 0, "the bundles have no version");
    assert_eq!(n_loading_problems("name: a\n"), MAX_PROBLEMS + 1, "the metas have no schema");
}

#[test]
fn mistakes_that_opm_does_not_check_are_warnings() {
    let property = |kind: &str, value: &str| {
        let end = "value: {packageName: tea, version: 1.0.0}\n";
        VALID.replacen(end, &format!("{end}- type: {kind}\n  value: {value}\n"), 1)
    };
    let constraint = |value: &str| property("olm.constraint", value);
    let metadata = property("olm.csv.metadata", "{displayName: a}");
    let twice = metadata.replace(
        "- type: olm.csv.metadata\n",
        "- type: olm.csv.metadata\n  value: {displayName: b}\n- type: olm.csv.metadata\n",
    );
    for (text, expected) in [
        (property("olm.package.required", "{packageName: a, versionRange: '>=1.0.0'}"), None),
        (
            property("olm.package.required", "{packageName: a, versionRange: '^1'}"),
            Some(Rule::Requirement),
        ),
        (property("olm.package.required", "{versionRange: '>1.0.0'}"), Some(Rule::Requirement)),
        (property("olm.gvk", "{group: g, version: v1, kind: K}"), None),
        (property("olm.gvk", "{group: g, version: v1}"), Some(Rule::Api)),
        (property("olm.gvk.required", "{group: g, kind: K}"), Some(Rule::Api)),
        (constraint("{cel: {rule: 'true'}}"), None),
        (constraint("{al: {constraints: []}}"), Some(Rule::Constraint)),
        (metadata, None),
        (twice, Some(Rule::CsvMetadata)),
    ] {
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        let found = catalog.validate();
        let rules: Vec<_> = found.iter().map(|problem| problem.rule).collect();
        assert_eq!(rules, expected.into_iter().collect::<Vec<_>>(), "{text}\n{found:?}");
        assert!(found.iter().all(|problem| problem.severity == Severity::Warning));
    }
}

#[test]
fn an_edge_to_a_higher_version_is_a_warning() {
    let long = format!("1.0.1-{}", "a".repeat(1_000));
    let text = |low: &str, high: &str| {
        let bundle = |version: &str| {
            format!(
                "---\n{{schema: olm.bundle, package: tea, name: tea.v{version}, image: i, properties: \
                 [{{type: olm.package, value: {{packageName: tea, version: {version}}}}}]}}\n"
            )
        };
        let entries =
            format!("[{{name: tea.v{high}, replaces: tea.v{low}}}, {{name: tea.v{low}}}]");
        format!(
            "{{schema: olm.package, name: tea, defaultChannel: a}}\n---\n{{schema: olm.channel, \
             package: tea, name: a, entries: {entries}}}\n{}{}",
            bundle(low),
            bundle(high)
        )
    };
    for (low, high, expected) in [
        ("1.0.0", "1.0.1", 0),
        ("1.0.1", "1.0.0", 1),
        ("1.0.0", "1.0.0-1", 0),
        (long.as_str(), "1.0.0", 1),
    ] {
        let found = problems(&text(low, high));
        let rules: Vec<_> = found.iter().map(|(_, rule, _)| *rule).collect();
        assert_eq!(rules, vec![Rule::Downgrade; expected], "{low} {high}");
        // Each text is shortened, and not the whole message.
        let end = "), which has a higher version";
        assert!(found.iter().all(|(.., message)| message.ends_with(end)), "{found:?}");
    }
}

#[test]
fn entries_of_one_channel_are_limited() {
    let read = |n_entries: usize| {
        let entries: String = (0..n_entries).fold(String::new(), |mut text, n| {
            let _ = write!(text, "{{name: e{n}}},");
            text
        });
        let text = format!("schema: olm.channel\npackage: tea\nname: a\nentries: [{entries}]\n");
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        let limits = catalog.loading_problems();
        let limits: Vec<_> = limits.iter().map(|it| (it.rule, it.message.clone())).collect();
        (catalog.channels.first().map(|channel| channel.entries.len()), limits)
    };
    assert_eq!(read(100_000), (Some(100_000), vec![]));
    let expected = "the list has more than 100000 entries".to_owned();
    assert_eq!(read(100_001), (None, vec![(Rule::Limit, expected)]));
}

#[test]
fn entries_after_ten_without_a_name_are_not_kept() {
    let of_channel = |entries: &str| {
        format!("schema: olm.channel\npackage: tea\nname: a\nentries: [{entries}]\n")
    };
    let of_deprecations =
        |entries: &str| format!("schema: olm.deprecations\npackage: tea\nentries: [{entries}]\n");
    let read = |text: &str| {
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        let n_channel: usize = catalog.channels.iter().map(|it| it.entries.len()).sum();
        let n_deprecated: usize = catalog.deprecations.iter().map(|it| it.entries.len()).sum();
        let errors = catalog.validate();
        let cut = errors.iter().filter(|it| it.message.ends_with("not checked"));
        let cut: Vec<_> = cut.map(|it| (it.rule, it.place.path.clone())).collect();
        (n_channel + n_deprecated, catalog.is_incomplete(), cut)
    };
    let place = Place::file("c.yaml").item("entries", 11).path;
    for (text, rule, named) in [
        (of_channel as fn(&str) -> String, Rule::BundleName, "{name: b}"),
        (
            of_deprecations,
            Rule::DeprecationReference,
            "{reference: {schema: olm.package}, message: m}",
        ),
    ] {
        let ten = format!("{named}, {}{named}", "{}, ".repeat(9));
        assert_eq!(read(&text(&ten)), (11, false, vec![]));
        let eleven = format!("{named}, {}{named}", "{}, ".repeat(10));
        assert_eq!(read(&text(&eleven)), (11, true, vec![(rule, place.clone())]));
    }
}

#[test]
fn endless_file_is_refused_at_a_limit() {
    let mut limits = Limits { metas: 100, ..Limits::default() };
    limits.document.input = 10_000;
    for text in
        [" ", "\n", "#\n", "a\n", "a", "- ", "---\n", "{}", "{}\n", "{\"a\":", "schema: x\n---\n"]
    {
        let file = File::read("c.yaml", Endless(text.as_bytes().iter().cycle()), &limits);
        let problems = file.problems.into_sorted();
        assert!(problems.iter().any(|it| it.rule == Rule::Limit), "{text:?}: {problems:?}");
    }
}

#[test]
fn records_of_all_files_together_are_limited() {
    let image = "i".repeat(1_000);
    let bundle = |name: &str| {
        format!(
            "schema: olm.bundle\npackage: tea\nname: {name}\nimage: {image}\nproperties:\n- type: \
             olm.package\n  value: {{packageName: tea, version: 1.0.0}}\n"
        )
    };
    let limits = Limits { records: 4_500, ..Limits::default() };
    let reader = FileReader::new(&limits);
    let mut problems = Vec::new();
    for path in ["a.yaml", "b.yaml", "c.yaml"] {
        assert!(!reader.is_full(), "{path}");
        let file = reader.read(path, bundle(path).as_bytes());
        problems.extend(file.problems.into_sorted());
    }
    assert!(reader.is_full());
    problems.retain(|problem| problem.rule == Rule::Limit);
    let files: Vec<_> = problems.iter().map(|problem| &*problem.place.file).collect();
    assert_eq!(files, ["c.yaml"], "{problems:?}");
    // Without records, only the names of the metas count.
    let reader = FileReader::new(&limits);
    let text = format!("{}---\n", bundle("a")).repeat(10);
    let _ = reader.read_each("a.yaml", text.as_bytes(), |_, _| {});
    assert!(!reader.is_full());
    let _ = reader.read_each("b.yaml", text.repeat(2).as_bytes(), |_, _| {});
    assert!(reader.is_full());
}

/// A file that grows as fast as it is read.
struct Endless(std::iter::Cycle<std::slice::Iter<'static, u8>>);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.iter_mut().zip(&mut self.0).for_each(|(to, from)| *to = *from);
        Ok(buffer.len())
    }
}

/// Aliases repeat an object, so 17 kB took 10 seconds.
#[test]
fn objects_count_as_work_of_their_file() {
    let object = format!("{}{}{}", "[".repeat(120), "a,".repeat(1_800), "]".repeat(120));
    let data = unlade_yaml::base64::encode(object);
    let text = |aliases: usize| {
        let aliases = "*a,".repeat(aliases);
        let objects = format!(
            "properties: [&a {{type: olm.bundle.object, value: {{data: {data}}}}}, {aliases}\n"
        );
        let objects = objects + "{type: olm.package, value: {packageName: tea, version: 1.0.0}}]";
        let package =
            "properties:\n- type: olm.package\n  value: {packageName: tea, version: 1.0.0}";
        VALID.replacen(package, &objects, 1)
    };
    assert_eq!(problems(&text(10)), []);
    let problems = problems(&text(200));
    assert!(problems.iter().all(|(_, rule, _)| *rule == Rule::Limit), "{problems:?}");
    assert!(problems[0].2.starts_with("failed to read the object: "), "{problems:?}");
}
