use super::*;

fn rule(value: &str) -> Rule {
    parse(value).unwrap_or_else(|error| panic!("{value}: {error}")).rule
}

fn package(name: &str) -> Constraint {
    Rule::Package(PackageRequired { name: name.to_owned(), range: ">=1.0.0".to_owned() }).into()
}

#[test]
fn each_rule_is_read() {
    let one = r#"{"package":{"packageName":"one","versionRange":">=1.0.0"}}"#;
    assert_eq!(rule(one), package("one").rule);
    let gvk = Gvk { group: "g".to_owned(), kind: "k".to_owned(), version: "v".to_owned() };
    assert_eq!(rule(r#"{"gvk":{"group":"g","version":"v","kind":"k"}}"#), Rule::Gvk(gvk));
    assert_eq!(rule(r#"{"cel":{"rule":"true"}}"#), Rule::Cel("true".to_owned()));
    for (name, compound) in
        [("all", Rule::All as fn(_) -> _), ("any", Rule::Any), ("not", Rule::Not)]
    {
        let value = format!(r#"{{"{name}":{{"constraints":[{one},{one}]}}}}"#);
        assert_eq!(rule(&value), compound(vec![package("one"), package("one")]));
    }
}

#[test]
fn of_several_rules_the_first_in_upstreams_order_counts() {
    let value = r#"{"cel":{"rule":"true"},"all":{"constraints":[]},"gvk":{"kind":"k"}}"#;
    assert!(matches!(rule(value), Rule::Gvk(_)));
}

#[test]
fn the_message_is_kept_and_names_match_in_any_letter_case() {
    let constraint = parse(r#"{"FailureMessage":"m","CEL":{"Rule":"r"}}"#).unwrap();
    assert_eq!(constraint.failure_message, "m");
    assert_eq!(constraint.rule, Rule::Cel("r".to_owned()));
}

#[test]
fn a_value_at_the_limit_is_read_and_one_above_is_not() {
    let value = |size: usize| format!(r#"{{"cel":{{"rule":"{}"}}}}"#, "x".repeat(size - 19));
    assert_eq!(value(MAX_SIZE).len(), MAX_SIZE);
    assert!(parse(&value(MAX_SIZE)).is_ok());
    assert_eq!(parse(&value(MAX_SIZE + 1)), Err(Error::TooLarge(MAX_SIZE + 1)));
}

#[test]
fn unknown_fields_of_constraints_are_refused() {
    assert_eq!(parse(r#"{"foo":{}}"#), Err(Error::UnknownField("foo".to_owned())));
    let inner = r#"{"gvk":{"plural":"p"}}"#;
    assert_eq!(parse(inner), Err(Error::UnknownField("plural".to_owned())));
    assert_eq!(parse("{}"), Err(Error::Nothing));
    for value in ["[]", "1", "", "{", r#"{"gvk":[]}"#, r#"{"cel":{"rule":1}}"#] {
        assert!(matches!(parse(value), Err(Error::Malformed(_))), "{value}");
    }
}

#[test]
fn hostile_nesting_is_an_error() {
    let deep = r#"{"not":{"constraints":["#.repeat(5_000) + &"]}}".repeat(5_000);
    assert!(deep.len() <= MAX_SIZE);
    assert!(matches!(parse(&deep), Err(Error::Malformed(_))));
}
