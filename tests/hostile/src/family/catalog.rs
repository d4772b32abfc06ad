//! Files of catalogs: documents, channels and their graphs, bundles and their properties.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{FROM_BOUNDED, Family, count, repeat};
use crate::Entry;

const fn family(name: &'static str, generate: fn(usize) -> Vec<u8>) -> Family {
    Family::new(Entry::Catalog, name, generate)
}

const PACKAGE: &str = "schema: olm.package\nname: tea\ndefaultChannel: stable\n";
const CHANNEL: &str = "---\nschema: olm.channel\npackage: tea\nname: stable\nentries:\n";

pub(super) const FAMILIES: &[Family] = &[
    family("separators", |n| repeat("---\n", n).into()),
    family("documents", |n| count(n, |n| format!("---\nschema: x\nname: n{n}\n")).into()),
    family("json-documents", |n| {
        count(n, |n| format!("{{\"schema\":\"x\",\"name\":\"{n}\"}}")).into()
    }),
    family("packages", |n| {
        count(n, |n| format!("---\n{}", PACKAGE.replace("tea", &format!("p{n}")))).into()
    }),
    family("same-package", |n| repeat(&format!("---\n{PACKAGE}"), n).into()),
    family("channels", |n| {
        let channel = |n| {
            format!("---\nschema: olm.channel\npackage: tea\nname: c{n}\nentries: [{{name: a}}]\n")
        };
        format!("{PACKAGE}{}", count(n, channel)).into()
    }),
    family("entries", |n| channel(&count(n, |n| format!("- name: e{n}\n")))),
    family("same-entry", |n| channel(&repeat("- name: e\n", n))),
    family("chain", |n| {
        channel(&count(n, |n| format!("- {{name: e{n}, replaces: e{}}}\n", n.saturating_sub(1))))
    }),
    family("cycle", |n| {
        channel(&count(n, |n| format!("- {{name: e{n}, replaces: e{}}}\n", n + 1)))
    }),
    family("downgrades-to-a-long-version", |n| {
        let long = bundle(0, "").replace("1.0.0", &format!("9.0.0-{}", "a".repeat(n / 2)));
        let bundles = long + &bundle(1, "");
        let entries = repeat("- {name: b1, replaces: b0}\n", n / 2);
        [bundles.into_bytes(), b"---\n".to_vec(), channel(&entries)].concat()
    }),
    family("nameless-entries", |n| channel(&format!("- {{name: e}}\n{}", repeat("- 0\n", n)))),
    family("nameless-entries-of-channels", |n| {
        let channel = |n| {
            let entries = repeat("0,", 18);
            format!("{{\"schema\":\"olm.channel\",\"package\":\"tea\",\"name\":\"c{n}\",\"entries\":[{entries}0]}}\n")
        };
        count(n, channel).into()
    }),
    family("skips", |n| {
        channel(&format!("- {{name: e, skips: [{}]}}\n", count(n, |n| format!("s{n},"))))
    }),
    family("skips-of-all", |n| {
        let side = usize::isqrt(n / 4);
        let each = |item: &dyn Fn(usize) -> String| {
            (0..side).fold(String::new(), |text, n| text + &item(n))
        };
        let skips = each(&|n| format!("e{n},"));
        channel(&each(&|n| format!("- {{name: e{n}, skips: [{skips}]}}\n")))
    }),
    family("skip-ranges", |n| {
        channel(&count(n, |n| format!("- {{name: e{n}, skipRange: '>=1.0.0 <1.0.{n}'}}\n")))
    }),
    family("invalid-ranges", |n| {
        channel(&count(n, |n| format!("- {{name: e{n}, skipRange: x}}\n")))
    }),
    family("bundles", |n| count(n, |n| bundle(n, "")).into()),
    family("properties", |n| {
        bundle(1, &count(n, |n| format!("- {{type: t{n}, value: {n}}}\n"))).into()
    }),
    family("same-property", |n| {
        bundle(1, &repeat("- {type: olm.gvk, value: {group: a, kind: B, version: v1}}\n", n)).into()
    }),
    family("deprecations", |n| {
        let entry =
            |n| format!("- {{reference: {{schema: olm.bundle, name: b{n}}}, message: no}}\n");
        format!(
            "{PACKAGE}---\nschema: olm.deprecations\npackage: tea\nentries:\n{}",
            count(n, entry)
        )
        .into()
    }),
    family("nameless-deprecations", |n| {
        format!("{PACKAGE}---\nschema: olm.deprecations\npackage: tea\nentries:\n{}", repeat("- 0\n", n))
            .into()
    }),
    family("empty-deprecations-of-a-long-name", |n| {
        let package = "p".repeat(300);
        let entries = "-\n".repeat(50_000.min(n / 2));
        let deprecations = format!("---\nschema: olm.deprecations\npackage: {package}\nentries:\n");
        repeat(&(deprecations + &entries), n).into()
    }),
    family("related-images-without-an-image", |n| {
        bundle(1, &format!("relatedImages:\n{}", repeat("- 0\n", n))).into()
    }),
    family("unknown-fields", |n| format!("{PACKAGE}{}", count(n, |n| format!("f{n}: x\n"))).into()),
    family("long-names-in-messages", |n| {
        let name = "a".repeat(n / 2);
        format!(
            "{PACKAGE}---\n{{\"schema\":\"olm.channel\",\"package\":\"tea\",\"name\":\"{name}\",\"entries\":[{}{{}}]}}",
            repeat("{\"name\":\"a\"},", n / 2)
        )
        .into()
    })
    // The size from which the text of the graphs passes its limit.
    .from(16 << 10),
    family("long-name", |n| PACKAGE.replace("tea", &repeat("a", n)).into()),
    // Graphs escape each character with up to five.
    family("channel-with-an-escaped-name", |n| {
        let name = repeat("\u{7f}", n);
        format!("{{\"schema\":\"olm.channel\",\"package\":\"tea\",\"name\":\"{name}\",\"entries\":[]}}").into()
    }),
    family("nested", |n| {
        format!("schema: x\nvalue: {}\n", "[".repeat(n.min(9_000)) + &repeat("a,", n)).into()
    }),
    family("nested-documents", |n| {
        let (open, close) = ("[".repeat(120), "]".repeat(120));
        repeat(&format!("---\nschema: x\nvalue: {open}{}{close}\n", "a,".repeat(1_000)), n).into()
    }),
    family("patched-documents", |n| {
        let (open, close) = ("[".repeat(120), "]".repeat(120));
        let patched = format!("{}{{{}}}", "a,".repeat(500), "a:,".repeat(15));
        repeat(&format!("---\nschema: x\nvalue: {open}{patched}{close}\n"), n).into()
    }),
    family("aliases-of-documents", |n| {
        let entries = format!("[&a {{name: a}},{}]", "*a,".repeat(1_000));
        let channel = "---\nschema: olm.channel\npackage: tea\nname: c\nentries: ";
        format!("{PACKAGE}{}", repeat(&format!("{channel}{entries}\n"), n)).into()
    }),
    family("aliases-of-an-object", |n| {
        let object = format!("{}{}{}", "[".repeat(120), "a,".repeat(1_000), "]".repeat(120));
        let data = STANDARD.encode(object);
        let object = format!("- &a {{type: olm.bundle.object, value: {{data: {data}}}}}\n");
        bundle(1, &(object + &repeat("- *a\n", n))).into()
    }),
    family("aliases", |n| {
        let (text, aliases) = ("x".repeat(n / 2), repeat("*a,", n / 2));
        format!("schema: x\na: &a {text}\nb: [{aliases}]\n").into()
    })
    .from(FROM_BOUNDED),
];

fn channel(entries: &str) -> Vec<u8> {
    format!("{PACKAGE}{CHANNEL}{entries}").into()
}

fn bundle(n: usize, properties: &str) -> String {
    format!(
        "---\nschema: olm.bundle\npackage: tea\nname: b{n}\nimage: registry.example/b:{n}\n\
         properties:\n- {{type: olm.package, value: {{packageName: tea, version: 1.0.{n}}}}}\n{properties}"
    )
}
