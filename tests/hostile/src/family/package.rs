//! Valid catalogs: packages, channels, bundles, dependencies and deprecations, as many and as dense
//! as they can be. Invalid catalogs are in [`catalog`](super::catalog).

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Family, repeat};
use crate::Entry;

/// The size of a long range of versions, in bytes. Ranges of more than 16 KiB are invalid.
const LONG_RANGE: usize = 16_000;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Render, name, generate)
}

pub(super) const FAMILIES: &[Family] = &[
    family("minimal-metas", |n| repeat("{\"schema\":\"a\"}\n", n).into()),
    family("valid-chain", |n| channel(n / 220, |n| replaces(n, ""), "")),
    family("head-skips-all", |n| {
        let count = n / 200;
        let skips: Vec<_> = (1..count).map(|n| format!("\"b{n}\"")).collect();
        let skips = format!(r#""name":"b0","skips":[{}]"#, skips.join(","));
        channel(count, |n| if n == 0 { skips.clone() } else { named(n) }, "")
    }),
    family("skips-of-all-lower", |n| {
        let count = usize::isqrt(n / 4);
        channel(
            count,
            |n| {
                let lower: Vec<_> = (0..n).map(|n| format!("\"b{n}\"")).collect();
                format!(r#"{},"skips":[{}]"#, named(n), lower.join(","))
            },
            "",
        )
    }),
    family("skips-of-unknown", |n| {
        let skips: Vec<_> = (0..n / 9).map(|n| format!("\"s{n}\"")).collect();
        let skips = format!(r#""name":"b0","skips":[{}]"#, skips.join(","));
        channel(1, |_| skips.clone(), "")
    }),
    family("ranges-of-all", |n| channel(n / 250, |n| replaces(n, r#","skipRange":"<2.0.0""#), "")),
    family("long-ranges", |n| {
        let range = format!(r#","skipRange":"{}<2.0.0""#, repeat("<1.0.0 || ", LONG_RANGE));
        channel(n / LONG_RANGE + 1, |n| replaces(n, &range), "")
    }),
    family("valid-channels", |n| {
        let channel = |n| single("tea", &format!("c{n}"), "{\"name\":\"b0\"}");
        let channels: String = (0..n / 90).map(channel).collect();
        (package("tea", "c0") + &channels + &bundle("tea", 0, "")).into()
    }),
    family("channels-of-all", |n| {
        let count = usize::isqrt(n / 50);
        let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
        let entries = entries.join(",");
        let channels: String =
            (0..count).map(|n| single("tea", &format!("c{n}"), &entries)).collect();
        let bundles: String = (0..count).map(|n| bundle("tea", n, "")).collect();
        (package("tea", "c0") + &channels + &bundles).into()
    }),
    family("long-names-beside-channels-of-all", |n| {
        // In a table, the rows of all entries would be as wide as that of the long names.
        let count = usize::isqrt(n / 40);
        let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
        let entries = entries.join(",");
        let channels: String =
            (0..count).map(|n| single("tea", &format!("c{n}"), &entries)).collect();
        let bundles: String = (0..count).map(|n| bundle("tea", n, "")).collect();
        let long = "n".repeat((n / 40).min(9_000));
        let entry = format!(
            r#"{{"name":"b0{long}","replaces":"{long}","skips":["s{long}"],"skipRange":">1.0.0-{long}"}}"#
        );
        let bundle = versioned("tea", 0, "9.0.0", "").replacen("b0", &format!("b0{long}"), 1);
        (package("tea", "c0") + &channels + &bundles + &single("tea", &long, &entry) + &bundle)
            .into()
    }),
    family("long-version-in-channels", |n| {
        let channel = |n| single("tea", &format!("c{n}"), "{\"name\":\"b0\"}");
        let channels: String = (0..=n / 180).map(channel).collect();
        let version = format!("1.0.11-{}", "a".repeat(n / 2));
        (package("tea", "c0") + &channels + &versioned("tea", 0, &version, "")).into()
    }),
    family("dotted-versions-in-channels", |n| {
        // A range that leaves out the default channel compares the heads of the others.
        let default = single("tea", "c", "{\"name\":\"b9\"}") + &bundle("tea", 9, "");
        let entries = format!("{{{}}},{{{}}}", named(0), replaces(1, "").replace("b2", "b0"));
        let channel = |n| single("tea", &format!("c{n}"), &entries);
        let channels: String = (0..=n / 330).map(channel).collect();
        let version = |last: usize| format!("1.0.11-{}{last}", repeat("a.", n / 4));
        let bundle = |n| versioned("tea", n, &version(n), "");
        (package("tea", "c") + &default + &channels + &bundle(0) + &bundle(1)).into()
    }),
    family("gaps-in-a-channel", |n| {
        // Ranges leave out each twentieth entry of the chain.
        let count = n / 240 + 1;
        let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
        let version = |n| if n % 20 == 10 { format!("0.0.{n}") } else { format!("1.0.11-{n}") };
        let bundles: String = (0..count).map(|n| versioned("tea", n, &version(n), "")).collect();
        (package("tea", "c") + &single("tea", "c", &entries.join(",")) + &bundles).into()
    }),
    family("valid-packages", |n| packages(n / 330, |_| String::new())),
    family("deprecated", |n| {
        let count = n / 310;
        let entry = |n| {
            format!(r#"{{"reference":{{"schema":"olm.bundle","name":"b{n}"}},"message":"old"}}"#)
        };
        let entries: Vec<_> = (0..count).map(entry).collect();
        let deprecations = format!(
            "{{\"schema\":\"olm.deprecations\",\"package\":\"tea\",\"entries\":[{}]}}\n",
            entries.join(",")
        );
        channel(count, |n| replaces(n, ""), &deprecations)
    }),
    family("chain-of-dependencies", |n| {
        // A filter follows at most a thousand.
        packages(n / 420, |n| required(&format!("p{}", n % 900 + 1)))
    }),
    family("dependencies-of-all", |n| {
        let count = usize::isqrt(n / 90);
        packages(count, |_| (0..count).map(|n| required(&format!("p{n}"))).collect())
    }),
    family("ranges-of-a-bundle-in-many-channels", |n| {
        let ranges = (0..n / 190).map(|n| required_range("pot", &format!(">=0.0.{n}")));
        let channel = |n| single("pot", &format!("c{n}"), "{\"name\":\"b0\"}");
        let channels: String = (0..=n / 180).map(channel).collect();
        (requiring(&ranges.collect::<String>()) + &channels + &bundle("pot", 0, "")).into()
    }),
    family("long-required-range", |n| {
        let range = repeat("<1.0.0 || ", LONG_RANGE.min(n / 2)) + "<1.0.0";
        let count = n / 500 + 1;
        let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
        let bundles: String = (0..count).map(|n| bundle("pot", n, "")).collect();
        let channel = single("pot", "c0", &entries.join(","));
        (requiring(&required_range("pot", &range)) + &channel + &bundles).into()
    }),
    family("invalid-required-ranges", |n| required_by_a_chain(n, "x")),
    family("required-ranges-without-a-version", |n| required_by_a_chain(n, ">=9.0.0")),
    family("long-names-chosen-by-many-needs", |n| {
        // Each need is met by one of many bundles in a channel with a long name.
        let long = "c".repeat(n / 8);
        let count = n / 1_300 + 1;
        let apis = |kind: &str, numbers: Range<usize>| {
            let long = "a".repeat(300);
            let each = |n| api(kind).replace("\"C\"", &format!("\"C{n}{long}\""));
            numbers.map(each).collect::<String>()
        };
        let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
        let tea = single("tea", "c", &format!("{{{}}}", named(0)))
            + &bundle("tea", 0, &apis("olm.gvk.required", 0..count));
        let pot: String =
            (0..count).map(|n| bundle("pot", n, &apis("olm.gvk", n..n + 1))).collect();
        let pot = package("pot", &long) + &single("pot", &long, &entries.join(",")) + &pot;
        (package("tea", "c") + &tea + &pot).into()
    }),
    family("related-images-of-a-long-name", |n| {
        let image = |n| format!(r#"{{"name":"","image":"r.example/l:{n}"}}"#);
        let images: Vec<_> = (0..n / 70).map(image).collect();
        let images = format!(r#""relatedImages":[{}],"properties""#, images.join(","));
        let bundle = bundle("tea", 0, "").replacen(r#""properties""#, &images, 1);
        let text =
            package("tea", "c") + &single("tea", "c", &format!("{{{}}}", named(0))) + &bundle;
        text.replace("\"b0\"", &format!("\"{}\"", "b".repeat(n / 4))).into()
    }),
    family("same-api", |n| {
        packages(n / 510, |_| [api("olm.gvk"), api("olm.gvk.required")].concat())
    }),
    family("valid-properties", |n| {
        let each = |n| format!(r#",{{"type":"t{n}","value":{n}}}"#);
        one(&(0..n / 28).map(each).collect::<String>())
    }),
    family("valid-same-property", |n| one(&repeat(&api("olm.gvk"), n))),
    family("objects", |n| {
        let data = STANDARD.encode(r#"{"kind":"A"}"#);
        one(&repeat(&format!(r#",{{"type":"olm.bundle.object","value":{{"data":"{data}"}}}}"#), n))
    }),
    family("objects-without-data", |n| {
        // The data are refused at their end.
        one(&(object(&format!("a: [{}", repeat("0, ", n / 4))) + &repeat(NO_DATA, n / 2)))
    }),
    family("objects-without-data-of-a-csv", |n| {
        let text = format!("kind: ClusterServiceVersion\na: {}", "x".repeat(n / 64));
        one(&(object(&text) + &repeat(NO_DATA, n / 2)))
    }),
    family("csv-metadata", |n| {
        let each: Vec<_> = (0..n / 12).map(|n| format!(r#""a{n}":"b""#)).collect();
        let annotations = each.join(",");
        one(&format!(
            r#",{{"type":"olm.csv.metadata","value":{{"annotations":{{{annotations}}}}}}}"#
        ))
    }),
    family("long-names", |n| {
        let name = "n".repeat(2_000);
        let count = n / 6_200;
        let entry = |n: usize| format!(r#"{{"name":"{name}{n}","replaces":"{name}{}"}}"#, n + 1);
        let entries: Vec<_> = (0..count).map(entry).collect();
        let bundle = |n| bundle("tea", n, "").replacen("\"b", &format!("\"{name}"), 1);
        let bundles: String = (0..count.max(1)).map(bundle).collect();
        (package("tea", "c") + &single("tea", "c", &entries.join(",")) + &bundles).into()
    })
    .from(16 << 10),
    family("apis-of-a-long-name", |n| {
        let each = |n| {
            let kind = if n % 2 == 0 { "olm.gvk" } else { "olm.gvk.required" };
            api(kind).replace("\"C\"", &format!("\"C{n}\""))
        };
        let bundle = bundle("tea", 0, &(0..n / 160).map(each).collect::<String>());
        let text =
            package("tea", "c") + &single("tea", "c", &format!("{{{}}}", named(0))) + &bundle;
        text.replace("\"b0\"", &format!("\"{}\"", "b".repeat(n / 4))).into()
    }),
    family("names-that-are-paths", |n| {
        let text = String::from_utf8(channel(n / 290, |n| replaces(n, ""), "")).unwrap_or_default();
        text.replace("\"b", "\"../../etc/b").into()
    }),
    family("other-schemas", |n| {
        let other =
            |n| format!("{{\"schema\":\"example.com/s{n}\",\"package\":\"tea\",\"v\":{n}}}\n");
        channel(1, named, &(0..n / 55).map(other).collect::<String>())
    })
    .from(16 << 10),
    family("other-schema-deep", |n| {
        let deep = ["[".repeat(9_000.min(n / 4)), "]".repeat(9_000.min(n / 4))].concat();
        let other = format!("{{\"schema\":\"x\",\"package\":\"tea\",\"v\":{deep}}}\n");
        channel(1, named, &repeat(&other, n))
    }),
];

/// An object without data, which repeats the one before it.
const NO_DATA: &str = r#",{"type":"olm.bundle.object","value":{}}"#;

fn package(name: &str, default: &str) -> String {
    format!("{{\"schema\":\"olm.package\",\"name\":\"{name}\",\"defaultChannel\":\"{default}\"}}\n")
}

/// Returns a channel with these entries.
fn single(package: &str, name: &str, entries: &str) -> String {
    format!(
        "{{\"schema\":\"olm.channel\",\"package\":\"{package}\",\"name\":\"{name}\",\"entries\":[{entries}]}}\n"
    )
}

/// Returns a bundle named after its number, with further properties.
fn bundle(package: &str, n: usize, properties: &str) -> String {
    versioned(package, n, &format!("1.0.{n}"), properties)
}

fn versioned(package: &str, n: usize, version: &str, properties: &str) -> String {
    let value = format!(r#"{{"packageName":"{package}","version":"{version}"}}"#);
    format!(
        "{{\"schema\":\"olm.bundle\",\"name\":\"b{n}\",\"package\":\"{package}\",\"image\":\"r.example/b:{n}\",\
         \"properties\":[{{\"type\":\"olm.package\",\"value\":{value}}}{properties}]}}\n"
    )
}

/// Returns a catalog with one channel of `count` bundles, and `more` metas.
fn channel(count: usize, entry: impl Fn(usize) -> String, more: &str) -> Vec<u8> {
    let count = count.max(1);
    let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", entry(n))).collect();
    let bundles: String = (0..count).map(|n| bundle("tea", n, "")).collect();
    (package("tea", "c") + &single("tea", "c", &entries.join(",")) + &bundles + more).into()
}

/// Returns a catalog with one bundle that has these properties.
fn one(properties: &str) -> Vec<u8> {
    let bundle = bundle("tea", 0, properties);
    (package("tea", "c") + &single("tea", "c", "{\"name\":\"b0\"}") + &bundle).into()
}

/// Returns a chain of packages that each require the next one and this range of another package,
/// which has as many versions.
fn required_by_a_chain(n: usize, range: &str) -> Vec<u8> {
    let count = n / 760 + 1;
    // A filter follows at most a thousand.
    let needs = |n| required(&format!("p{}", n % 900 + 1)) + &required_range("pot", range);
    let entries: Vec<_> = (0..count).map(|n| format!("{{{}}}", replaces(n, ""))).collect();
    let bundles: String = (0..count).map(|n| bundle("pot", n, "")).collect();
    let pot = package("pot", "c") + &single("pot", "c", &entries.join(",")) + &bundles;
    [packages(count, needs), pot.into()].concat()
}

/// Returns a catalog with `count` packages of one bundle with these properties.
fn packages(count: usize, properties: impl Fn(usize) -> String) -> Vec<u8> {
    let each = |n| {
        let name = format!("p{n}");
        let channel = single(&name, "c", &format!("{{{}}}", named(n)));
        package(&name, "c") + &channel + &bundle(&name, n, &properties(n))
    };
    (0..count.max(1)).map(each).collect::<String>().into()
}

fn named(n: usize) -> String {
    format!(r#""name":"b{n}""#)
}

fn replaces(n: usize, more: &str) -> String {
    format!(r#""name":"b{n}","replaces":"b{}"{more}"#, n + 1)
}

/// Returns the package "tea" with one bundle that has these properties, and the package "pot"
/// without its channels and bundles.
fn requiring(properties: &str) -> String {
    let tea = single("tea", "c", &format!("{{{}}}", named(0))) + &bundle("tea", 0, properties);
    package("tea", "c") + &tea + &package("pot", "c0")
}

fn required(package: &str) -> String {
    required_range(package, ">=1.0.0")
}

fn required_range(package: &str, range: &str) -> String {
    let value = format!(r#"{{"packageName":"{package}","versionRange":"{range}"}}"#);
    format!(r#",{{"type":"olm.package.required","value":{value}}}"#)
}

fn api(kind: &str) -> String {
    format!(r#",{{"type":"{kind}","value":{{"group":"a.b","version":"v1","kind":"C"}}}}"#)
}

fn object(text: &str) -> String {
    let data = STANDARD.encode(text);
    format!(r#",{{"type":"olm.bundle.object","value":{{"data":"{data}"}}}}"#)
}

#[cfg(test)]
mod tests {
    use unlade_catalog::{Catalog, File, Limits, Severity};

    use super::*;

    #[test]
    fn each_catalog_is_valid() {
        for family in FAMILIES {
            let mut catalog = Catalog::default();
            let input = family.input(20_000);
            catalog.add(File::read("c", input.as_slice(), &Limits::default()));
            let problems = catalog.validate();
            let error = problems.iter().find(|problem| problem.severity == Severity::Error);
            // Each object is decoded only where it is needed.
            assert!(
                error.is_none() || family.name == "objects-without-data",
                "{}: {error:?}",
                family.name
            );
        }
    }
}
