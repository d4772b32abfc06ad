use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::{Catalog, File, FileReader, Limits, Severity};

/// Two channels with a chain, a skipped patch, and a package on which tea.v3 depends.
const CATALOG: &str = "
{schema: olm.package, name: tea, defaultChannel: stable}
---
{schema: olm.channel, package: tea, name: stable, entries: [{name: tea.v4, replaces: tea.v3},
  {name: tea.v3, replaces: tea.v1, skips: [tea.v2]}, {name: tea.v2}, {name: tea.v1}]}
---
{schema: olm.channel, package: tea, name: old, entries: [{name: tea.v1}]}
---
{schema: olm.deprecations, package: tea, entries: [
  {reference: {schema: olm.channel, name: old}, message: m},
  {reference: {schema: olm.bundle, name: tea.v2}, message: m}]}
---
{schema: my.schema, package: tea, name: x}
---
{schema: olm.package, name: pot, defaultChannel: a}
---
{schema: olm.channel, package: pot, name: a, entries: [{name: pot.v2, replaces: pot.v1}, {name: pot.v1}]}
---
{schema: olm.package, name: fire, defaultChannel: a}
---
{schema: olm.channel, package: fire, name: a, entries: [{name: fire.v1}]}
";

fn bundle(package: &str, version: u32, more: &str) -> String {
    format!(
        "---\n{{schema: olm.bundle, package: {package}, name: {package}.v{version}, image: i, \
         properties: [{{type: olm.package, value: {{packageName: {package}, version: \
         {version}.0.0}}}}{more}]}}\n"
    )
}

fn text() -> String {
    let pot = ", {type: olm.package.required, value: {packageName: pot, versionRange: <2.0.0}}";
    let fire = "{group: g, version: v1, kind: Fire}";
    [
        CATALOG.to_owned(),
        bundle("tea", 4, ", {type: olm.constraint, value: {cel: {rule: a}}}"),
        bundle("tea", 3, pot),
        bundle("tea", 2, ""),
        bundle("tea", 1, ""),
        bundle("pot", 2, ""),
        bundle("pot", 1, &format!(", {{type: olm.gvk.required, value: {fire}}}")),
        bundle("fire", 1, &format!(", {{type: olm.gvk, value: {fire}}}")),
    ]
    .concat()
}

/// Filters the catalog. Returns the names that remain, and the adjustments.
fn filter(choices: &[&str]) -> Result<(Vec<String>, Vec<String>), Error> {
    let limits = Limits::default();
    let text = text();
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &limits));
    assert!(catalog.validate().is_empty(), "{:?}", catalog.validate());
    let needs = RefCell::new(Needs::default());
    File::read_each("c.yaml", text.as_bytes(), &limits, |meta, _| needs.borrow_mut().add(&meta));
    let choices: Vec<_> = choices.iter().map(|choice| choice.parse().unwrap()).collect();
    let plan = Plan::new(&catalog, &needs.into_inner(), &choices)?;
    let kept = RefCell::new(Vec::new());
    File::read_each("c.yaml", text.as_bytes(), &limits, |meta, _| {
        kept.borrow_mut().extend(plan.apply(&meta));
    });
    let kept = kept.into_inner().join("\n");
    let mut filtered = Catalog::default();
    filtered.add(File::read("filtered.json", kept.as_bytes(), &limits));
    let problems = filtered.validate();
    assert!(problems.iter().all(|it| it.severity == Severity::Warning), "{problems:?}\n{kept}");
    let mut names = Vec::new();
    for channel in &filtered.channels {
        let entries: Vec<_> = channel.entries.iter().map(|entry| entry.name.as_str()).collect();
        names.push(format!("{}/{}: {}", channel.package, channel.name, entries.join(" ")));
    }
    for package in &filtered.packages {
        names.push(format!("{}: {}", package.name, package.default_channel));
    }
    for entry in filtered.deprecations.iter().flat_map(|all| &all.entries) {
        names.push(format!("deprecated {}", entry.name));
    }
    Ok((names, plan.adjustments))
}

#[test]
fn a_package_remains_with_what_it_depends_on() {
    let (names, adjustments) = filter(&["tea"]).unwrap();
    assert_eq!(
        names,
        [
            "tea/stable: tea.v4 tea.v3 tea.v2 tea.v1",
            "tea/old: tea.v1",
            "pot/a: pot.v1",
            "fire/a: fire.v1",
            "tea: stable",
            "pot: a",
            "fire: a",
            "deprecated old",
            "deprecated tea.v2",
        ]
    );
    assert_eq!(
        adjustments,
        [
            "the bundle fire.v1 of the package fire remains in the channel a: the bundle pot.v1 \
             requires the API Fire g/v1",
            "the bundle pot.v1 of the package pot remains in the channel a: the bundle tea.v3 \
             requires the package pot <2.0.0",
            "the bundle tea.v4 has a constraint, which this command does not evaluate",
        ]
    );
}

#[test]
fn a_range_keeps_the_entries_that_the_graph_needs() {
    for (choice, expected, n_adjustments) in [
        ("tea:stable@<=1.0.0", "tea/stable: tea.v1", 0),
        ("tea:stable@1.0.0 || 4.0.0", "tea/stable: tea.v4 tea.v3 tea.v1", 4),
        // Only tea.v3 skips tea.v2, so without it there would be two heads.
        ("tea:stable@<=2.0.0", "tea/stable: tea.v3 tea.v2 tea.v1", 3),
        ("tea:stable@4.0.0", "tea/stable: tea.v4", 1),
    ] {
        let (names, adjustments) = filter(&[choice]).unwrap();
        assert_eq!(names[0], expected, "{choice}");
        assert_eq!(adjustments.len(), n_adjustments, "{choice}: {adjustments:#?}");
    }
}

#[test]
fn a_default_channel_that_is_left_out_is_replaced() {
    let (names, adjustments) = filter(&["tea:old"]).unwrap();
    assert_eq!(names, ["tea/old: tea.v1", "tea: old", "deprecated old"]);
    let expected =
        "the default channel of the package tea is old, because the channel stable is skipped";
    assert_eq!(adjustments, [expected]);
}

#[test]
fn choices_that_do_not_exist_are_refused() {
    assert_eq!(filter(&["milk"]), Err(Error::Package("milk".into())));
    let (package, channel) = ("tea".to_owned(), "fast".to_owned());
    assert_eq!(filter(&["tea:fast"]), Err(Error::Channel { package, channel }));
    assert_eq!(filter(&["tea@>9.0.0"]), Err(Error::Versions("tea".into())));
    for text in ["", ":a", "tea:", "tea:a,", "tea@latest"] {
        assert!(text.parse::<Choice>().is_err(), "{text}");
    }
}

/// Returns a catalog with a chain of `n` versions of a package, each of which requires its own
/// range of versions of another package, and the API of the next one.
fn large(n: usize) -> (Catalog, Needs) {
    let mut text = String::new();
    for package in ["a", "b"] {
        let entries: Vec<_> = (0..n)
            .map(|i| match i {
                0 => format!("{{name: {package}.v0}}"),
                _ => format!("{{name: {package}.v{i}, replaces: {package}.v{}}}", i - 1),
            })
            .collect();
        _ = write!(
            text,
            "---\n{{schema: olm.package, name: {package}, defaultChannel: c}}\n---\n{{schema: \
             olm.channel, package: {package}, name: c, entries: [{}]}}\n",
            entries.join(", ")
        );
        for i in 0..n {
            let api =
                format!("{{type: olm.gvk, value: {{group: g, version: v1, kind: {package}}}}}");
            let more = format!(
                ", {api}, {{type: olm.gvk.required, value: {{group: g, version: v1, kind: b}}}}"
            );
            text += &bundle(package, u32::try_from(i).unwrap(), &more);
        }
    }
    let limits = Limits::default();
    let (mut catalog, needs) = (Catalog::default(), RefCell::new(Needs::default()));
    catalog.add(FileReader::new(&limits).read_with("c.yaml", text.as_bytes(), |meta, _| {
        needs.borrow_mut().add(&meta);
    }));
    (catalog, needs.into_inner())
}

/// With this catalog, one step for each bundle would take a minute; one step for each need takes
/// almost no time.
#[test]
fn a_need_of_many_bundles_is_met_once() {
    let (catalog, needs) = large(3_000);
    let plan = Plan::new(&catalog, &needs, &["a".parse().unwrap()]).unwrap();
    assert_eq!(plan.adjustments.len(), 3_000, "{:?}", plan.adjustments.first());
    let part = "the bundle b.v2999 of the package b remains in the channel c: the bundle a.v0 \
                requires the API b g/v1";
    assert_eq!(plan.adjustments[0], part);
}

#[test]
fn many_adjustments_are_counted_and_not_listed() {
    let channels: Vec<_> = (0..MAX_ADJUSTMENTS + 5)
        .map(|n| {
            format!(
                "---\n{{schema: olm.channel, package: a, name: c{n}, entries: [{{name: a.v1}}]}}\n"
            )
        })
        .collect();
    let text = format!(
        "{{schema: olm.package, name: a, defaultChannel: c}}\n---\n{{schema: olm.channel, package: a, \
         name: c, entries: [{{name: a.v2}}]}}\n{}{}{}",
        channels.concat(),
        bundle("a", 1, ""),
        bundle("a", 2, "")
    );
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    let choices = ["a@2.0.0".parse().unwrap()];
    let plan = Plan::new(&catalog, &Needs::default(), &choices).unwrap();
    assert_eq!(plan.adjustments.len(), MAX_ADJUSTMENTS + 1);
    assert_eq!(plan.adjustments.last().unwrap(), "5 more adjustments are not listed");
}

#[test]
fn choices_from_the_same_channel_are_limited() {
    let (catalog, needs) = large(1_000);
    let plan = |choice: &str, n: usize| {
        Plan::new(&catalog, &needs, &vec![choice.parse().unwrap(); n]).map(drop)
    };
    // One choice looks at 1,000 entries with one target each.
    for choice in ["b", "b:c", "b@>=0.0.0"] {
        assert_eq!(plan(choice, 100), Ok(()));
        assert_eq!(plan(choice, 10_000), Err(Error::Work));
    }
    // A comparison with a long range is more work. The channel has 1,000 versions.
    for (len, expected) in [(1, Ok(())), (16_000, Err(Error::Work))] {
        assert_eq!(plan(&format!("b@>=0.0.0-{}", "a".repeat(len)), 200), expected);
    }
    // A channel that is named several times is one.
    assert_eq!(plan(&format!("b:c{}", ",c".repeat(10_000)), 1), Ok(()));
}

#[test]
fn the_lowest_range_of_a_long_channel_is_connected() {
    let (catalog, needs) = large(600);
    let choices = ["a@0.0.0 || 500.0.0".parse().unwrap()];
    let plan = Plan::new(&catalog, &needs, &choices).unwrap();
    let graph = plan.adjustments.iter().filter(|it| it.starts_with("the entry "));
    assert_eq!(graph.count(), 499);
}

#[test]
fn an_image_set_selects_as_oc_mirror_does() {
    let limits = Limits::default();
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text().as_bytes(), &limits));
    let set = |operators: &str| {
        let text = format!("kind: ImageSetConfiguration\nmirror: {{operators: [{operators}]}}\n");
        ImageSet::parse(text.as_bytes(), &limits.document)
    };
    let select = |more: &str| {
        let set = set(&format!("{{catalog: x, {more}}}")).unwrap();
        let plan = Plan::new(&catalog, &Needs::default(), &set.choices("y", &catalog)?);
        let plan = plan.unwrap();
        let lists = plan.channels.iter().map(|((package, channel), names)| {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            format!("{package}/{channel}: {}", names.join(" "))
        });
        Ok::<_, ImageSetError>(lists.collect::<Vec<_>>().join(", "))
    };
    for (more, expected) in [
        ("packages: [{name: tea}]", "tea/stable: tea.v4"),
        ("packages: [{name: tea, channels: [{name: old}]}]", "tea/old: tea.v1"),
        ("packages: [{name: tea, minVersion: 3.0.0}]", "tea/stable: tea.v3 tea.v4"),
        (
            "packages: [{name: tea, channels: [{name: stable, maxVersion: 1.0.0}]}]",
            "tea/stable: tea.v1",
        ),
        (
            "full: true, packages: [{name: tea}]",
            "tea/old: tea.v1, tea/stable: tea.v1 tea.v2 tea.v3 tea.v4",
        ),
        ("targetTag: v1", "fire/a: fire.v1, pot/a: pot.v2, tea/stable: tea.v4"),
    ] {
        assert_eq!(select(more).unwrap(), expected, "{more}");
    }
    let invalid = "packages: [{name: tea, minVersion: latest}]";
    assert!(matches!(select(invalid), Err(ImageSetError::Version { .. })));
    for operators in
        ["{catalog: x, fulll: true}", "{catalog: x, packages: [{name: a, minBundle: b}]}"]
    {
        assert!(matches!(set(operators), Err(ImageSetError::Fields(_))), "{operators}");
    }
    assert!(matches!(ImageSet::parse(b"kind: Pod", &limits.document), Err(ImageSetError::Kind)));
    let two = set("{catalog: x}, {catalog: docker://z, skipDependencies: true}").unwrap();
    assert!(!two.skips_dependencies("x").unwrap());
    assert!(two.skips_dependencies("z").unwrap());
    assert!(matches!(two.choices("y", &catalog), Err(ImageSetError::Catalog { .. })));
    assert_eq!(two.choices("z", &catalog).unwrap().len(), 3);
}

/// A package: its channels, the first of which is the default, and the numbers of the versions in
/// them.
type Shape<'s> = (&'s str, &'s [(&'s str, &'s [u32])]);

/// Filters a catalog, so that the package a remains. `more` returns further properties of a bundle.
fn keep_a(packages: &[Shape<'_>], more: impl Fn(&str, u32) -> String) -> Result<Plan, Error> {
    let mut text = String::new();
    for (package, channels) in packages {
        let default = channels[0].0;
        _ = writeln!(
            text,
            "---\n{{schema: olm.package, name: {package}, defaultChannel: {default}}}"
        );
        for (channel, versions) in *channels {
            let entry = |at: usize| match versions.get(at + 1) {
                Some(next) => {
                    format!("{{name: {package}.v{}, replaces: {package}.v{next}}}", versions[at])
                }
                None => format!("{{name: {package}.v{}}}", versions[at]),
            };
            let entries: Vec<_> = (0..versions.len()).map(entry).collect();
            let entries = entries.join(", ");
            _ = writeln!(
                text,
                "---\n{{schema: olm.channel, package: {package}, name: {channel}, entries: [{entries}]}}"
            );
        }
        let versions: BTreeSet<_> = channels.iter().flat_map(|(_, versions)| *versions).collect();
        text.extend(versions.into_iter().map(|n| bundle(package, *n, &more(package, *n))));
    }
    let (catalog, needs) = read(&text);
    Plan::new(&catalog, &needs, &["a".parse().unwrap()])
}

/// Reads a valid catalog.
fn read(text: &str) -> (Catalog, Needs) {
    let limits = Limits::default();
    let (mut catalog, needs) = (Catalog::default(), RefCell::new(Needs::default()));
    catalog.add(FileReader::new(&limits).read_with("c.yaml", text.as_bytes(), |meta, _| {
        needs.borrow_mut().add(&meta);
    }));
    assert_eq!(catalog.validate(), []);
    (catalog, needs.into_inner())
}

const A: Shape<'_> = ("a", &[("s", &[1])]);

/// Returns the property of a bundle that requires versions of the package b.
fn requirement(range: &str) -> String {
    let value = format!("{{packageName: b, versionRange: '{range}'}}");
    format!(", {{type: olm.package.required, value: {value}}}")
}

#[test]
fn a_dependency_comes_from_the_first_package_that_has_it_in_its_default_channel() {
    let b: &[(&str, &[u32])] = &[("s", &[2, 1]), ("t", &[9, 2]), ("u", &[9])];
    let catalog = [A, ("b", b), ("c", &[("s", &[5, 4])])];
    // `lowest` is the lowest version that provides the API.
    for (lowest, expected) in [
        (1, "the bundle b.v2 of the package b remains in the channel s"),
        (3, "the bundle c.v5 of the package c remains in the channel s"),
        (6, "the bundle b.v9 of the package b remains in the channel t"),
    ] {
        let plan = keep_a(&catalog, |package, version| match package {
            "a" => ", {type: olm.gvk.required, value: {group: g, version: v1, kind: K}}".to_owned(),
            _ if version >= lowest => {
                ", {type: olm.gvk, value: {group: g, version: v1, kind: K}}".to_owned()
            }
            _ => String::new(),
        });
        let adjustments = plan.unwrap().adjustments;
        let expected = format!("{expected}: the bundle a.v1 requires the API K g/v1");
        assert!(adjustments.contains(&expected), "{adjustments:#?}");
    }
}

#[test]
fn a_bundle_that_was_added_for_one_need_meets_another_one_too() {
    // The requirements are in the order of their ranges.
    let own = requirement("<3.0.0") + &requirement(">=1.0.0");
    let b: &[(&str, &[u32])] = &[("s", &[3, 2, 1])];
    let plan = keep_a(&[A, ("b", b)], |package, _| match package {
        "a" => own.clone(),
        _ => String::new(),
    });
    let adjustments = plan.unwrap().adjustments;
    let expected = "the bundle b.v2 of the package b remains in the channel s: the bundle a.v1 \
                    requires the package b <3.0.0";
    assert_eq!(adjustments, [expected]);
}

#[test]
fn of_equal_versions_the_higher_release_or_build_remains() {
    for [old, new] in [
        // Without the order, the first name in the alphabet would remain.
        ["name: b.v1, version: 1.0.0+1", "name: b.v2, version: 1.0.0+2"],
        ["name: b-a, version: 1.0.0", "name: b-v1.0.0-1, version: 1.0.0, release: '1'"],
        [
            "name: b-v1.0.0-1, version: 1.0.0, release: '1'",
            "name: b-v1.0.0-2, version: 1.0.0, release: '2'",
        ],
    ] {
        let name = |text: &str| text.split([' ', ',']).nth(1).unwrap().to_owned();
        let meta = |text: &str| {
            let (name, version) = text.split_once(", ").unwrap();
            format!(
                "---\n{{schema: olm.bundle, package: b, {name}, image: i, properties: \
                 [{{type: olm.package, value: {{packageName: b, {version}}}}}]}}\n"
            )
        };
        // The higher one is the first and the last bundle.
        for order in [[old, new], [new, old]] {
            let text = [
                "{schema: olm.package, name: a, defaultChannel: s}\n---\n{schema: olm.channel, \
                 package: a, name: s, entries: [{name: a.v1}]}\n---\n{schema: olm.package, name: b, \
                 defaultChannel: s}\n---\n"
                    .to_owned(),
                format!(
                    "{{schema: olm.channel, package: b, name: s, entries: [{{name: {}, replaces: \
                     {}}}, {{name: {1}}}]}}\n",
                    name(new),
                    name(old)
                ),
                bundle("a", 1, &requirement("1.0.0")),
                order.map(meta).concat(),
            ]
            .concat();
            let (catalog, needs) = read(&text);
            let plan = Plan::new(&catalog, &needs, &["a".parse().unwrap()]).unwrap();
            let kept: Vec<_> = plan.bundles.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!(kept, ["a.v1", &name(new)]);
        }
    }
}

#[test]
fn comparisons_with_long_ranges_are_limited() {
    let versions: Vec<_> = (0..1_000).rev().collect();
    let plan = |n: usize, len: usize| {
        let range = |n: usize| format!("<{n}.0.0-{}", "a".repeat(len));
        let own: String = (0..n).map(|n| requirement(&range(n))).collect();
        let more = |package: &str, _| if package == "a" { own.clone() } else { String::new() };
        keep_a(&[A, ("b", &[("s", &versions)])], more).map(|plan| plan.adjustments.len())
    };
    // No version is in the first range, and the version in the second one is in all others.
    assert_eq!(plan(140, 1), Ok(2));
    assert_eq!(plan(140, 16_000), Err(Error::Work));
}

#[test]
fn a_need_that_no_bundle_meets_is_compared_once() {
    // The last package of a chain is found after 900 steps. Each of them would need as much work.
    let names: Vec<_> = (0..900).map(|n| format!("c{n}")).collect();
    let versions: Vec<_> = (0..1_000).rev().collect();
    let all = [("s", versions.as_slice())];
    let one: &[(&str, &[u32])] = &[("s", &[1])];
    let mut packages = vec![A, ("b", &all)];
    packages.extend(names.iter().map(|name| (name.as_str(), one)));
    let own = requirement(&("<0.0.0 ".repeat(400) + "<0.0.0"));
    let plan = keep_a(&packages, |package, _| {
        let next = match package.strip_prefix('c') {
            Some(n) => n.parse::<usize>().unwrap() + 1,
            None if package == "a" => 0,
            None => return String::new(),
        };
        let next =
            requirement("<2.0.0").replace("packageName: b", &format!("packageName: c{next}"));
        own.clone() + &next
    });
    let adjustments = plan.unwrap().adjustments;
    // Nothing provides the package after the last one.
    let unmet = adjustments.iter().filter(|it| it.ends_with("which no bundle provides")).count();
    assert_eq!((unmet, adjustments.len()), (902, 1_802));
}

#[test]
fn what_bundles_provide_and_require_has_a_maximum_size() {
    let name = "g".repeat(need::MAX_MEMORY / 8);
    for property in [
        format!("type: olm.gvk, value: {{group: {name}}}"),
        format!("type: olm.gvk.required, value: {{kind: {name}}}"),
        format!("type: olm.package.required, value: {{packageName: {name}}}"),
    ] {
        let text = format!(
            "{{schema: olm.bundle, package: tea, name: tea.v1, properties: [{{{property}}}]}}"
        );
        let mut metas = Vec::new();
        let limits = Limits::default();
        File::read_each("c.yaml", text.as_bytes(), &limits, |meta, _| metas.push(meta));
        let (catalog, mut needs) = (Catalog::default(), Needs::default());
        for _ in 0..7 {
            needs.add(&metas[0]);
        }
        Plan::new(&catalog, &needs, &[]).unwrap();
        needs.add(&metas[0]);
        let error = Plan::new(&catalog, &needs, &[]).unwrap_err();
        assert_eq!(error, Error::Memory);
        assert!(error.is_limit());
    }
}
