use super::*;

/// Reads entries from lines such as `b replaces a skips x y`.
fn entries(text: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let (line, skips) = line.split_once(" skips ").unwrap_or((line, ""));
        let (name, replaces) = line.split_once(" replaces ").unwrap_or((line, ""));
        Entry {
            name: name.trim().to_owned(),
            replaces: replaces.trim().to_owned(),
            skips: skips.split_whitespace().map(str::to_owned).collect(),
            skip_range: String::new(),
        }
    };
    text.split(", ").map(entry).collect()
}

fn names(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The expected values are those of upstream's code for the crafted catalogs `graph-*`.
#[test]
fn graphs_are_checked_as_upstream_checks_them() {
    for (text, expected) in [
        ("a", Ok(())),
        ("c replaces b, b replaces a, a", Ok(())),
        ("c replaces a skips b, b, a", Ok(())),
        ("b skips a, a", Ok(())),
        // The tail may replace and skip strangers.
        ("b replaces a, a replaces x skips y", Ok(())),
        // Skipped entries may form a cycle.
        ("c skips a b, b replaces a, a replaces b", Ok(())),
        ("d replaces b skips c, c replaces a, b replaces a, a", Ok(())),
        ("a, b", Err(Error::SeveralHeads(names("a b")))),
        ("a replaces b, b replaces a", Err(Error::NoHead)),
        ("a replaces a", Err(Error::NoHead)),
        ("a skips a", Err(Error::NoHead)),
        ("c replaces b, b replaces a, a replaces b", Err(Error::Cycle(names("b a b")))),
        ("c replaces b, b, a replaces a", Err(Error::Stranded(names("a")))),
        ("d replaces b, b, c replaces c, a replaces a", Err(Error::Stranded(names("a c")))),
        // A head that replaces an entry that it also skips cuts the chain.
        ("c replaces b skips b, b replaces a, a", Err(Error::Stranded(names("a")))),
        ("c replaces b, b replaces a skips a, a replaces z, z", Err(Error::Stranded(names("z")))),
    ] {
        assert_eq!(check(&entries(text)), expected, "{text}");
    }
}

#[test]
fn a_long_chain_takes_linear_time() {
    let chain: Vec<_> = (0..200_000)
        .map(|n| Entry {
            name: format!("v{n}"),
            replaces: format!("v{}", n + 1),
            ..Entry::default()
        })
        .collect();
    assert_eq!(check(&chain), Ok(()));
}

#[test]
fn stranded_entries_of_a_graph_with_several_heads_are_those_that_no_head_reaches() {
    for (text, expected) in [
        ("c replaces a, b replaces a, a", &[][..]),
        ("c replaces b, b skips x, a replaces a, x", &["a"]),
        ("a replaces b, b replaces a, c skips d, d", &["a", "b"]),
        ("a replaces a", &["a"]),
    ] {
        assert_eq!(stranded(&entries(text)), expected, "{text}");
    }
}
