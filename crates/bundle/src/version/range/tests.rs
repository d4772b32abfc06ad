use super::*;

fn matches(range: &str, version: &str) -> bool {
    let range: Range = range.parse().unwrap_or_else(|error| panic!("{range}: {error}"));
    range.matches(&parse(version).unwrap())
}

fn is_refused(range: &str) -> bool {
    range.parse::<Range>().is_err()
}

#[test]
fn each_operator_compares() {
    for (range, below, equal, above) in [
        ("1.0.0", false, true, false),
        ("=1.0.0", false, true, false),
        ("==1.0.0", false, true, false),
        ("!1.0.0", true, false, true),
        ("!=1.0.0", true, false, true),
        ("<1.0.0", true, false, false),
        ("<=1.0.0", true, true, false),
        (">1.0.0", false, false, true),
        (">=1.0.0", false, true, true),
        ("> 1.0.0", false, false, true),
        (">=  1.0.0", false, true, true),
    ] {
        assert_eq!(matches(range, "0.9.0"), below, "{range}");
        assert_eq!(matches(range, "1.0.0"), equal, "{range}");
        assert_eq!(matches(range, "1.0.1"), above, "{range}");
    }
}

#[test]
fn and_binds_tighter_than_or() {
    let range = ">1.0.0 <2.0.0 || >3.0.0 !4.2.1";
    for version in ["1.2.3", "1.9.9", "3.1.1"] {
        assert!(matches(range, version), "{version}");
    }
    for version in ["4.2.1", "2.1.1"] {
        assert!(!matches(range, version), "{version}");
    }
}

#[test]
fn wildcards_are_their_interval() {
    assert!(matches("1.2.x", "1.2.0") && matches("1.2.x", "1.2.9") && !matches("1.2.x", "1.3.0"));
    assert!(matches("1.x", "1.9.0") && !matches("1.x", "2.0.0"));
    assert!(matches(">1.2.x", "1.3.0") && !matches(">1.2.x", "1.2.9"));
    assert!(matches("<=1.x", "1.9.9") && !matches("<=1.x", "2.0.0"));
    assert!(!matches("<1.2.x", "1.2.0") && matches(">=1.2.x", "1.2.0"));
    // As in upstream, no version is both below and above.
    assert!(!matches("!=1.2.x", "1.1.0") && !matches("!=1.2.x", "1.3.0"));
}

#[test]
fn prereleases_match_by_precedence_and_builds_are_ignored() {
    assert!(matches("<1.0.0", "1.0.0-rc.1"));
    assert!(matches(">1.0.0-alpha", "1.0.0-beta"));
    assert!(matches("1.0.0", "1.0.0+build"));
    assert!(matches("1.0.0+one", "1.0.0+two"));
}

#[test]
fn a_token_of_one_character_is_dropped() {
    assert!(!matches("1.0.0 - 2.0.0", "1.5.0"));
    assert!(!matches("1.0.0 , 2.0.0", "1.0.0"));
    assert!(matches("1.0.0 - 1.0.0", "1.0.0"));
}

#[test]
fn an_unknown_operator_before_a_wildcard_is_forgotten() {
    assert!(matches("~1.2.x", "1.2.0") && !matches("~1.2.x", "1.2.1"));
    assert!(matches("^1.x", "1.0.0") && !matches("^1.x", "1.1.0"));
}

#[test]
fn a_double_wildcard_ends_at_the_next_minor() {
    assert!(matches("1.x.x", "1.0.9") && !matches("1.x.x", "1.1.0"));
}

#[test]
fn the_letter_x_makes_a_wildcard() {
    for range in ["1.0.0-next", "<=1.0.0-next", ">1.0.0-next"] {
        assert!(is_refused(range), "{range}");
    }
    assert!(matches(">=1.0.0-next", "1.0.0"));
    assert!(matches("<1.0.0-next", "1.0.0-alpha"));
}

#[test]
fn an_invalid_range_is_refused() {
    for range in [
        "",
        " ",
        "x",
        "*",
        "1",
        "1.0",
        "v1.0.0",
        "^1.0.0",
        "~1.0.0",
        "1.0.0,2.0.0",
        "||",
        "|| 1.0.0",
        "1.0.0 ||",
        "1.0.0||2.0.0",
        "=>1.0.0",
        "latest",
        ">= 1.0.0, <2.0.0",
    ] {
        assert!(is_refused(range), "{range}");
    }
}

#[test]
fn an_empty_alternative_is_refused() {
    // Upstream parses it, but panics when it evaluates it.
    assert!(matches!("1.0.0 || || 2.0.0".parse::<Range>(), Err(Error::Empty(_))));
}

#[test]
fn a_range_that_is_too_long_is_refused() {
    let longest = "9.x ".repeat(MAX_LEN / 4);
    assert!(matches(&longest, "9.0.0"));
    let error = format!("{longest} ").parse::<Range>().unwrap_err();
    assert_eq!(error.to_string(), "the range has 16385 bytes, and at most 16384 are allowed");
}

#[test]
fn each_comparison_of_a_wildcard_adds_to_the_cost() {
    for (range, cost) in [("1.0.0", 5 + 16), ("1.x", 3 + 32), ("1.x || 2.0.0", 12 + 48)] {
        assert_eq!(range.parse::<Range>().unwrap().cost(), cost, "{range}");
    }
}
