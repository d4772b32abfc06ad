use std::fmt::Write as _;

use unlade_catalog::{Catalog, File, Limits, graph::Selection};

use super::*;

fn diagram(entries: &str) -> Diagram {
    let text = format!("{{schema: olm.channel, package: p, name: s, entries: [{entries}]}}");
    let mut catalog = Catalog::default();
    catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
    Diagram::new(&catalog, &Selection::default()).unwrap()
}

#[test]
fn every_entry_is_a_box_and_every_edge_an_arrow() {
    let entries = "{name: c, replaces: b, skips: [a, x]}, {name: b, replaces: a}, {name: a}";
    let svg = write(&diagram(entries)).unwrap();
    for (part, count) in [
        ("<rect class=\"entry", 4),
        ("<rect class=\"entry head\"", 1),
        ("<rect class=\"entry skipped outside\"", 1),
        ("<path class=\"edge\"", 2),
        ("<path class=\"edge skip\"", 2),
        (">c: replaces b</title>", 1),
    ] {
        assert_eq!(svg.matches(part).count(), count, "{part}\n{svg}");
    }
    let _: f64 = svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
}

#[test]
fn names_cannot_add_elements() {
    let svg = write(&diagram(r#"{name: "</text><script>&'\u0007\n", replaces: "\"b"}"#)).unwrap();
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&amp;&apos;\\u{7}\\n"), "{svg}");
    assert!(!svg.contains("<script"), "{svg}");
    assert!(!svg.contains(|character: char| character.is_control() && character != '\n'));
}

/// Escaping the whole name for each edge would take hours.
#[test]
fn a_name_is_truncated_before_it_is_escaped() {
    let name = format!("\u{202e}{}", "a".repeat(99));
    let svg = write(&diagram(&format!(r#"{{name: "{name}", replaces: b}}"#))).unwrap();
    let label = format!(r"\u{{202e}}{}... (102 bytes)", "a".repeat(77));
    assert!(svg.contains(&format!(">{label}: replaces b</title>")), "{svg}");
}

/// Draws every graph of four entries in which each replaces one name and skips another.
#[test]
fn no_graph_makes_the_library_fail() {
    let names = ["a", "b", "c", "d", "x"];
    for choice in 0..5_usize.pow(6) {
        let mut choices = (0..6).map(|at| names[choice / 5_usize.pow(at) % 5]);
        let mut entries = String::new();
        for name in ["a", "b", "c"] {
            let [replaces, skips] = [choices.next().unwrap(), choices.next().unwrap()];
            _ = write!(entries, "{{name: {name}, replaces: {replaces}, skips: [{skips}]}}, ");
        }
        assert!(write(&diagram(&entries)).is_ok(), "{entries}");
    }
}

fn entry(name: usize, skips: &str) -> String {
    format!("{{name: e{name}, skips: [{skips}]}},")
}

/// Returns entries in columns of `height`, each of which skips an entry of the previous column.
fn columns(n_entries: usize, height: usize) -> String {
    let first: String = (0..height).map(|name| entry(name, "")).collect();
    let skipped = |name: usize| name - height - name % height + name * 7_919 % height;
    let others = (height..n_entries).map(|name| entry(name, &format!("e{}", skipped(name))));
    first + &others.collect::<String>()
}

/// Returns a chain in which a second entry skips each entry. Each of them can only be placed after
/// the previous one.
fn steps(n_entries: usize) -> String {
    let skips = |name: usize| format!("e{}", name - 1 - name % 2);
    entry(0, "") + &entry(1, "") + &(2..n_entries).map(|n| entry(n, &skips(n))).collect::<String>()
}

#[test]
fn only_graphs_that_take_long_are_not_aligned() {
    for (name, entries, is_aligned) in [
        ("chain", columns(5_000, 1), true),
        ("several columns", columns(1_400, 140), true),
        ("high columns", columns(4_500, 450), false),
        ("low columns", columns(4_900, 49), false),
        ("steps", steps(4_800), false),
    ] {
        let diagram = diagram(&entries);
        let work = Ranks::new(&diagram.graphs[0]).alignment_work();
        assert_eq!(work <= MAX_ALIGNMENT_WORK, is_aligned, "{name}: {work}");
    }
}

#[test]
fn the_largest_graphs_are_drawn() {
    let range = |range: std::ops::Range<usize>| {
        range.map(|n| format!("e{n}")).collect::<Vec<_>>().join(",")
    };
    let chain: Vec<_> =
        (0..1_600).map(|n| format!("{{name: e{n}, replaces: e{}}},", n + 1)).collect();
    let chain = chain.concat();
    let chain_that_is_skipped = format!("{{name: h, skips: [{}]}},{chain}", range(0..1_600));
    let star = entry(0, &range(1..MAX_COLUMN));
    let full: String = (0..95).map(|n| entry(n, &range(n + 1..95))).collect();
    let rows: String = (0..65).map(|n| entry(n, &range(100..165))).collect();
    for (name, entries) in [
        ("chain", chain_that_is_skipped),
        ("star", star),
        ("full", full),
        ("rows", rows),
        ("columns", columns(4_500, 450)),
        ("steps", steps(4_800)),
    ] {
        assert!(write(&diagram(&entries)).is_ok(), "{name}");
    }
    let too_many: String = (0..=MAX_ELEMENTS).map(|n| entry(n, "")).collect();
    let too_wide = entry(0, &range(1..MAX_COLUMN + 2));
    for entries in [too_many, too_wide] {
        assert_eq!(write(&diagram(&entries)), Err(Error::TooLarge));
    }
}
