use std::io;

use super::*;
use crate::render::Summary;

/// Renders a bundle whose image is `NAME:VERSION`.
fn bundle(image: &str) -> Result<Rendered, io::Error> {
    let (name, version) =
        image.split_once(':').ok_or_else(|| io::Error::other("the image does not exist"))?;
    let json = format!(
        r#"{{"schema":"olm.bundle","name":"{name}.v{version}","package":"{name}","image":"{image}","properties":[{{"type":"olm.package","value":{{"packageName":"{name}","version":"{version}"}}}}]}}"#
    );
    let icon = Some(("aWNvbg==".to_owned(), "image/png".to_owned()));
    Ok(Rendered { json, summary: Summary { description: format!("about {version}"), icon } })
}

fn rendered(text: &str) -> Result<Vec<String>, Error> {
    render(text.as_bytes(), None, &Limits::default(), bundle)
}

#[test]
fn the_highest_patch_replaces_that_of_the_minor_version_before_and_skips_the_rest() {
    let images = ["1.0.1", "1.1.0", "1.0.0", "1.1.1", "2.0.0"];
    let images: Vec<_> = images.iter().map(|version| format!("{{image: 'a:{version}'}}")).collect();
    let text = format!(
        "schema: olm.semver\ngenerateMajorChannels: true\nfast: {{bundles: [{}]}}",
        images.join(",")
    );
    let metas = rendered(&text).unwrap();
    assert_eq!(
        metas.get(..3).unwrap(),
        [
            r#"{"schema":"olm.package","name":"a","defaultChannel":"fast-v2","icon":{"base64data":"aWNvbg==","mediatype":"image/png"},"description":"about 2.0.0"}"#,
            r#"{"schema":"olm.channel","name":"fast-v1","package":"a","entries":[{"name":"a.v1.0.0"},{"name":"a.v1.0.1","skips":["a.v1.0.0"]},{"name":"a.v1.1.0"},{"name":"a.v1.1.1","replaces":"a.v1.0.1","skips":["a.v1.0.0","a.v1.1.0"]}]}"#,
            r#"{"schema":"olm.channel","name":"fast-v2","package":"a","entries":[{"name":"a.v2.0.0"}]}"#,
        ]
    );
    assert_eq!(metas.len(), 8);
}

#[test]
fn templates_that_are_not_valid_are_errors() {
    let semver = |text: &str| format!("schema: olm.semver\n{text}");
    let two = "stable: {bundles: [{image: 'a:1.0.0'}, {image: 'b:1.0.0'}]}";
    let build = "stable: {bundles: [{image: 'a:1.0.0+1'}, {image: 'a:1.0.0+2'}]}";
    for (text, error) in [
        (String::new(), "the template is empty"),
        ("a: [".to_owned(), "failed to parse the template"),
        ("- a".to_owned(), "the schema \"\" is not olm.template.basic, olm.semver or"),
        ("schema: olm.other".to_owned(), "the schema \"olm.other\" is not olm.template.basic, olm"),
        (semver(""), "the template has no bundles"),
        (semver("generate: true"), "generate is unknown"),
        (semver("stable: []"), "stable is a list, not a mapping"),
        (semver("defaultChannelTypePreference: major"), "the defaultChannelTypePreference"),
        (semver("fast: {bundles: [{image: a}]}"), "failed to render the bundle a"),
        (semver(two), "the bundle b.v1.0.0 belongs to the package b, but other bundles belong to a"),
        (semver(build), "the versions 1.0.0+1 and 1.0.0+2 differ only in their build metadata"),
        ("schema: olm.template.basic\nentries: [1]".to_owned(), "entry 0: "),
        (
            "schema: olm.template.basic\nentries: [{schema: olm.bundle, image: 'a:1.0.0', package: a}]"
                .to_owned(),
            "the bundle \"\" may have only an image and a name",
        ),
        (
            "schema: olm.template.basic\nentries: [{schema: olm.bundle, name: a.v1}]".to_owned(),
            "the bundle \"a.v1\" has no image",
        ),
        (
            "schema: olm.template.substitutes\nentries: [{schema: olm.package, name: a}]".to_owned(),
            "the catalog is invalid: ",
        ),
    ] {
        let found = rendered(&text).unwrap_err().to_string();
        assert!(found.starts_with(error), "{text}: {found}");
    }
}

#[test]
fn another_kind_of_template_than_the_expected_is_an_error() {
    let text = "schema: olm.template.basic";
    let error =
        render(text.as_bytes(), Some(Kind::Semver), &Limits::default(), bundle).unwrap_err();
    assert_eq!(error.to_string(), "the schema \"olm.template.basic\" is not olm.semver");
}

#[test]
fn a_basic_template_has_only_the_images_of_bundles() {
    let catalog = "schema: olm.bundle\nname: a\nimage: <i>\npackage: p\n---\nschema: x\nb: 1.0\n";
    let converted = convert(catalog.as_bytes(), Kind::Basic, &Limits::default()).unwrap();
    assert_eq!(
        converted,
        r#"{"schema":"olm.template.basic","entries":[{"schema":"olm.bundle","image":"\u003ci\u003e"},{"b":1,"schema":"x"}]}"#
    );
}

/// A valid catalog with one bundle, as the entries of a template.
const ENTRIES: &str = "
- {schema: olm.package, name: a, defaultChannel: c}
- {schema: olm.channel, package: a, name: c, entries: [{name: a.v1.0.0}]}
- {schema: olm.bundle, package: a, name: a.v1.0.0, image: i, properties: [
    {type: olm.package, value: {packageName: a, version: 1.0.0}}]}
";

#[test]
fn a_substitute_takes_the_place_of_its_base() {
    let text = |base, name| {
        let substitutions = format!("substitutions: [{{base: {base}, name: '{name}'}}]");
        format!("schema: olm.template.substitutes\nentries:{ENTRIES}{substitutions}")
    };
    let metas = rendered(&text("a.v1.0.0", "a:1.1.0")).unwrap();
    assert_eq!(
        metas.get(1).unwrap(),
        r#"{"schema":"olm.channel","name":"c","package":"a","entries":[{"name":"a.v1.0.0"},{"name":"a.v1.1.0","skips":["a.v1.0.0"]}]}"#
    );
    for (base, name, problem) in [
        ("a.v1.0.0", "a:1.0.0", "its version is not higher"),
        ("a.v1.0.0", "a:0.9.0", "its version is not higher"),
        ("b", "a:1.1.0", "the bundle is not in the catalog"),
        ("b", "", "both must be set, and must differ"),
    ] {
        let error = rendered(&text(base, name)).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{error}");
    }
}

#[test]
fn a_document_that_exceeds_a_limit_is_reported_as_such() {
    let mut limits = Limits::default();
    limits.document.input = 40;
    let long = format!("schema: olm.package\nname: {}\n", "a".repeat(40));
    assert!(convert(long.as_bytes(), Kind::Basic, &limits).unwrap_err().is_limit());
    assert!(!convert(&b"a: ["[..], Kind::Basic, &limits).unwrap_err().is_limit());
}

#[test]
fn errors_show_the_beginnings_of_long_names() {
    let long = "a".repeat(10_000);
    let semver = |images: &str| {
        format!("schema: olm.semver\nstable: {{bundles: [{images}]}}\n? {long}\n: 1")
    };
    let two = |first: &str, second: &str| {
        let images = [first, second].map(|image| format!("{{image: '{image}'}}")).join(",");
        format!("schema: olm.semver\nfast: {{bundles: [{images}]}}")
    };
    let basic = |fields: &str| {
        format!("schema: olm.template.basic\nentries: [{{schema: olm.bundle, {fields}}}]")
    };
    let substitution = |base: &str, name: &str| {
        let substitutions = format!("substitutions: [{{base: {base}, name: '{name}'}}]");
        format!("schema: olm.template.substitutes\nentries:{ENTRIES}{substitutions}")
    };
    for (text, expected) in [
        (
            format!("schema: {long}"),
            "is not olm.template.basic, olm.semver or olm.template.substitutes",
        ),
        (semver(""), "is unknown"),
        (
            format!("schema: olm.semver\ndefaultChannelTypePreference: {long}"),
            "is not the type of a generated channel",
        ),
        (two(&long, ""), "failed to render the bundle aaa"),
        (two(&format!("{long}\":1.0.0"), ""), "was not rendered as a valid bundle"),
        (two(&format!("a:{long}"), ""), "the bundle a.vaaa"),
        (two(&format!("{long}:1.0.0"), "b:1.0.0"), "the bundle b.v1.0.0 belongs to the package b"),
        (two(&format!("a:1.0.0+{long}"), "a:1.0.0"), "differ only in their build metadata"),
        (basic(&format!("name: {long}")), "has no image"),
        (
            basic(&format!("name: {long}, image: a, package: a")),
            "may have only an image and a name",
        ),
        (substitution(&long, "a:1.1.0"), "the bundle is not in the catalog"),
        (substitution("a.v1.0.0", &format!("a:0.0.1-{long}")), "its version is not higher"),
        (substitution("a.v1.0.0", &format!("A{long}:2.0.0")), "the catalog is invalid"),
    ] {
        let error = rendered(&text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.len() < 1_300, "{expected}: {error}");
    }
    let duplicate = Error::Duplicate(long.clone()).to_string();
    assert!(duplicate.len() < 400, "{duplicate}");
}

#[test]
fn a_template_has_at_most_a_thousand_substitutions() {
    // Each is refused before the next, so the limit must be checked first.
    let text = format!(
        "schema: olm.template.substitutes\nentries:{ENTRIES}substitutions: [{}]",
        "{},".repeat(1_001)
    );
    assert!(rendered(&text).unwrap_err().is_limit());
}

#[test]
fn a_catalog_that_cannot_be_loaded_is_not_converted() {
    for text in ["a: [", "name: a", "schema: olm.channel\nentries: 1"] {
        let error = convert(text.as_bytes(), Kind::Basic, &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
}

#[test]
fn skipped_names_of_many_minor_versions_are_limited() {
    let template = |count: usize| {
        let images = (0..count).map(|n| format!("{{image: 'a:1.{n}.0'}}")).collect::<Vec<_>>();
        format!("schema: olm.semver\nstable: {{bundles: [{}]}}\n", images.join(","))
    };
    assert_eq!(rendered(&template(300)).unwrap().len(), 601);
    let error = rendered(&template(2_000)).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn images_of_a_semver_template_are_limited() {
    let images = "  - image: a:1.0.0\n".repeat(100_001);
    let error =
        rendered(&format!("schema: olm.semver\nstable:\n  bundles:\n{images}")).unwrap_err();
    assert_eq!(error.to_string(), "the template has more than 100000 images");
    assert!(error.is_limit());
}

#[test]
fn checks_after_many_substitutions_are_limited() {
    let template = |count: usize| {
        let list =
            |item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(",");
        let entries = list(&|n| format!("{{name: b{n}, replaces: b{}}}", n + 1));
        let bundles = list(&|n| {
            format!(
                "{{schema: olm.bundle, package: tea, name: b{n}, image: i, properties: [{{type: \
                 olm.package, value: {{packageName: tea, version: 1.0.{n}}}}}]}}"
            )
        });
        let substitutions = (0..count.min(900))
            .map(|n| format!("{{name: 'tea:2.0.{n}', base: b{n}}}"))
            .collect::<Vec<_>>()
            .join(",");
        format!(
            "schema: olm.template.substitutes\nentries: [{{schema: olm.package, name: tea, \
             defaultChannel: c}}, {{schema: olm.channel, package: tea, name: c, entries: \
             [{entries}]}}, {bundles}]\nsubstitutions: [{substitutions}]\n"
        )
    };
    assert_eq!(rendered(&template(100)).unwrap().len(), 202);
    let error = rendered(&template(3_000)).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn a_catalog_that_exceeds_a_limit_is_not_returned() {
    let metas = [r#"{"schema":"olm.package","name":"tea","defaultChannel":"stable"}"#.to_owned()];
    assert_eq!(catalog(&metas, "t", &Limits::default()).unwrap().packages.len(), 1);
    let limits = Limits { records: 100, ..Limits::default() };
    assert!(catalog(&metas, "t", &limits).unwrap_err().is_limit());
}
