use super::*;

fn ignored(patterns: &str, path: &str) -> bool {
    let mut ignore = Ignore::default();
    ignore.add("", patterns.as_bytes(), 1_000).unwrap();
    ignore.is_ignored(path)
}

/// The expected values are those of opm for the crafted catalogs `ignore-*`, and of go-git's code.
#[test]
fn patterns_match_as_in_opm() {
    for (pattern, matching, other) in [
        ("x.md", &["x.md", "a/x.md", "x.md/c"][..], &["ax.md", "x.mdx", "X.md"][..]),
        ("*.md", &["x.md", "a/.md"], &["x.mdx"]),
        ("/x.md", &["x.md", "x.md/c"], &["a/x.md"]),
        ("a/b.md", &["a/b.md"], &["z/a/b.md"]),
        ("docs/", &["docs/a", "z/docs/a/b"], &["docs", "z/docs"]),
        ("docs", &["docs", "docs/a"], &["docs2"]),
        ("docs/*", &["docs/a", "docs/a/b"], &["docs", "z/docs/a"]),
        ("**/b.md", &["b.md", "a/b.md", "a/c/b.md"], &["c.md"]),
        ("a/**", &["a/b", "a/b/c"], &["b/a/c"]),
        ("a/**/b.md", &["a/b.md", "a/x/b.md", "a/x/y/b.md"], &["b.md", "x/a/b.md"]),
        ("?.md", &["x.md"], &["xx.md", ".md"]),
        ("[xy].md", &["x.md"], &["z.md"]),
        ("[^x].md", &["y.md"], &["x.md"]),
        ("\\#x", &["#x"], &["x"]),
        ("\\!x", &["!x"], &["x"]),
        ("./x.md", &[], &["x.md", "a/x.md"]),
        ("\t x.md \r", &["x.md"], &[]),
        ("# x", &[], &["x", "# x"]),
    ] {
        for path in matching {
            assert!(ignored(pattern, path), "{pattern} {path}");
        }
        for path in other {
            assert!(!ignored(pattern, path), "{pattern} {path}");
        }
    }
}

/// The differences from git that make libraries for git's rules unsuitable.
#[test]
fn patterns_differ_from_those_of_git() {
    // A file below an excluded directory can be included again.
    assert!(!ignored("docs/\n!docs/keep.md", "docs/keep.md"));
    // `!` does not negate a class.
    assert!(ignored("[!x].md", "x.md") && ignored("[!x].md", "!.md"));
    assert!(!ignored("[!x].md", "y.md"));
    // An escaped blank at the end is trimmed, which leaves a malformed pattern.
    assert!(!ignored("x\\ ", "x ") && !ignored("x\\ ", "x"));
    // The part after `**` takes the first name that it matches.
    assert!(!ignored("**/a/b", "a/a/b"));
    // `a/**` matches a file named `a`, too.
    assert!(ignored("a/**", "a"));
    // Braces are ordinary characters.
    assert!(ignored("{a,b}*", "{a,b}.md") && !ignored("{a,b}*", "a"));
    // `?` matches a character, not a byte.
    assert!(ignored("?.md", "ä.md") && !ignored("??.md", "ä.md"));
    // `**` within a name never matches in a path, and is `*` elsewhere.
    assert!(!ignored("a/x**", "a/xy") && ignored("x**", "xy"));
}

#[test]
fn the_last_pattern_wins_and_covers_only_its_directory() {
    let mut ignore = Ignore::default();
    ignore.add("", b"*.md\n!keep.md\n", 1_000).unwrap();
    ignore.add("sub", b"!x.md\nkeep.md\n", 1_000).unwrap();
    let paths = ["x.md", "keep.md", "sub/x.md", "sub/keep.md", "sub/y.md", "subx/keep.md"];
    let found = paths.map(|path| ignore.is_ignored(path));
    assert_eq!(found, [true, false, false, true, true, false]);
}

#[test]
fn a_line_is_bounded() {
    let long = "x".repeat(MAX_LINE);
    assert_eq!(Ignore::default().add("", long.as_bytes(), 1_000), Err(Excess::Line));
}
