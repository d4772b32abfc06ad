use super::*;
use crate::{CHANNEL, DEPRECATIONS};

thread_local! {
    /// The number of times that a test has read a file or one of its documents.
    pub(super) static N_READINGS: Cell<usize> = const { Cell::new(0) };
}

const ENTRY: &str = r#"{"name":"tea.v2","replaces":"tea.v1","skips":["tea.v0"]}"#;
const HEAD: &str = "schema: olm.channel\nname: stable\npackage: tea\n";

fn set_entry(
    file: &[u8],
    target: &Target<'_>,
    index: usize,
    entry: &str,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    apply(file, &[Edit::SetEntry { target: *target, index, entry }], limits)
}

fn append(file: &[u8], json: &str, limits: &Limits) -> Result<Vec<u8>, Error> {
    apply(file, &[Edit::Append { json: json.into() }], limits)
}

fn set(file: &str, index: usize, entry: &str) -> Result<String, Error> {
    let target = Target { schema: CHANNEL, package: "tea", name: "stable" };
    let changed = set_entry(file.as_bytes(), &target, index, entry, &Limits::default())?;
    Ok(String::from_utf8(changed).unwrap())
}

#[test]
fn an_entry_is_added_where_the_others_are() {
    let new = "- name: tea.v2\n  replaces: tea.v1\n  skips:\n  - tea.v0\n";
    let indented = new.replace("- n", "  - n").replace("\n  ", "\n    ");
    for (before, added, after) in [
        (format!("# a\n{HEAD}entries:\n- name: tea.v1 # b\n"), new, "\n# the end\n"),
        (
            format!("{HEAD}entries:\n-\n  name: tea.v1\n\n- # x\n  name: b\n"),
            new,
            "properties: []\n",
        ),
        (format!("x: y\n---\n{HEAD}entries:\n  - name: tea.v1\n"), &*indented, "---\nschema: b\n"),
        (format!("{HEAD}entries: [{{name: tea.v1}}"), &*format!(", {ENTRY}"), "] # x\n"),
        (format!("{HEAD}entries: ["), ENTRY, "]\nproperties: []\n"),
        (format!("{HEAD}? entries\n: [{{name: a}}"), &*format!(", {ENTRY}"), "]\n"),
        (format!("{HEAD}entries:\n- name: a"), &*format!("\n{new}"), ""),
    ] {
        let (before, is_second) = match before.strip_prefix("x: y") {
            Some(rest) => (format!("schema: a\nx: y{rest}"), true),
            None => (before, false),
        };
        let file = format!("{before}{after}");
        let index = file.matches("name: tea.v1").count()
            + file.matches("name: b\n").count()
            + usize::from(file.contains("name: a"));
        let changed = set(&file, index, ENTRY).unwrap();
        assert_eq!(changed, format!("{before}{added}{after}"), "second document: {is_second}");
    }
}

/// Searching for the text of the document would find the comment, and would take minutes for a long
/// separator.
#[test]
fn a_document_is_found_below_a_separator_with_the_same_text() {
    let channel = "{schema: olm.channel, name: stable, package: tea, entries: [";
    let before = format!("schema: a\n--- # {channel}]}}\n{channel}");
    let changed = set(&format!("{before}]}}\n"), 0, ENTRY).unwrap();
    assert_eq!(changed, format!("{before}{ENTRY}]}}\n"));
}

#[test]
fn json_keeps_its_layout() {
    let head = r#"{"schema": "olm.channel", "name": "stable", "package": "tea", "#;
    for (before, added, after) in [
        (format!("{head}\"entries\": [{{\"name\": \"a\"}}"), format!(",{ENTRY}"), "]}\n{\"schema\":\"b\"}"),
        (format!("{head}\"Entries\": ["), ENTRY.to_owned(), "]}"),
        (
            format!("{head}\n  \"entries\": [\n    {{\n      \"name\": \"a\"\n    }}"),
            ",\n    {\n      \"name\": \"tea.v2\",\n      \"replaces\": \"tea.v1\",\n      \"skips\": [\n        \"tea.v0\"\n      ]\n    }".to_owned(),
            "\n  ]}",
        ),
    ] {
        let index = before.matches("\"a\"").count();
        assert_eq!(set(&format!("{before}{after}"), index, ENTRY).unwrap(), format!("{before}{added}{after}"));
    }
}

/// A file with deprecations, which have comments and an unknown field.
const DEPRECATED: &str = "schema: olm.deprecations
package: tea
entries:
# first
- reference:
    schema: olm.package # a
  # why
  message: old
  # end
  note: b
# second
- message: |
    a
    - b
  reference: {schema: olm.channel, name: a}
";

const OF_TEA: Target<'_> = Target { schema: DEPRECATIONS, package: "tea", name: "" };

#[test]
fn an_entry_is_replaced() {
    let entry = r#"{"reference":{"schema":"olm.package"},"message":"new\n- a\n"}"#;
    let changed = set_entry(DEPRECATED.as_bytes(), &OF_TEA, 0, entry, &Limits::default()).unwrap();
    let (before, rest) = DEPRECATED.split_once("- reference").unwrap();
    let (_, after) = rest.split_once("# second").unwrap();
    let new = "- message: |\n    new\n    - a\n  reference:\n    schema: olm.package\n";
    let expected = format!("{before}{new}# second{after}");
    assert_eq!(String::from_utf8(changed).unwrap(), expected);
    let json = r#"{"schema":"olm.deprecations","package":"tea","entries":[{"message":"old"}]}"#;
    let changed = set_entry(json.as_bytes(), &OF_TEA, 0, entry, &Limits::default()).unwrap();
    assert_eq!(String::from_utf8(changed).unwrap(), json.replace(r#"{"message":"old"}"#, entry));
}

#[test]
fn if_one_field_changes_everything_else_keeps_its_text() {
    let set = |file: &str, index, entry: &str| {
        let changed = set_entry(file.as_bytes(), &OF_TEA, index, entry, &Limits::default());
        String::from_utf8(changed.unwrap()).unwrap()
    };
    let first = r#"{"message":"new: c","note":"b","reference":{"schema":"olm.package"}}"#;
    let expected = DEPRECATED.replace("message: old", "message: 'new: c'");
    assert_eq!(set(DEPRECATED, 0, first), expected);
    let reference = r#""reference":{"schema":"olm.channel","name":"a"}"#;
    let second = format!(r#"{{{reference},"message":"c\nd\n"}}"#);
    let expected = DEPRECATED.replace("    a\n    - b\n", "    c\n    d\n");
    assert_eq!(set(DEPRECATED, 1, &second), expected);
    let json = r#"{"schema":"olm.deprecations","package":"tea","entries":[
        {"reference":{"schema":"olm.package"}, "message" : "old" ,"note":"b"}]}"#;
    assert_eq!(set(json, 0, first), json.replace(r#""old""#, r#""new: c""#));
    // In flow style, the item is replaced.
    let flow = "schema: olm.deprecations\npackage: tea\nentries:\n- {message: old, note: b,\n  \
                reference: {schema: olm.package}}\n- {}\n";
    let new = "- message: 'new: c'\n  note: b\n  reference:\n    schema: olm.package\n- {}\n";
    let (before, _) = flow.split_once("- {").unwrap();
    assert_eq!(set(flow, 0, first), format!("{before}{new}"));
}

#[test]
fn the_end_of_a_text_that_looks_like_a_comment_is_replaced() {
    let head = "schema: olm.deprecations\npackage: tea\nentries:\n";
    let reference = "reference:\n    schema: olm.package\n";
    let entry = r#"{"message":"new","reference":{"schema":"olm.package"}}"#;
    let values = ["|\n    a\n\n    # b\n", "'a\n    # b'\n", "|-\n    # b\n"];
    for value in values {
        for (old, new) in [
            (format!("- message: {value}  {reference}"), format!("- message: new\n  {reference}")),
            (format!("- {reference}  message: {value}"), format!("- {reference}  message: new\n")),
        ] {
            for rest in ["", "  # c\n", "# c\n- reference: {}\n"] {
                let file = format!("{head}{old}{rest}");
                let changed = set_entry(file.as_bytes(), &OF_TEA, 0, entry, &Limits::default());
                let changed = String::from_utf8(changed.unwrap()).unwrap();
                assert_eq!(changed, format!("{head}{new}{rest}"), "{file}");
            }
            let file = format!("{head}{old}");
            let changed = set_entry(file.as_bytes(), &OF_TEA, 1, "{}", &Limits::default());
            assert_eq!(String::from_utf8(changed.unwrap()).unwrap(), format!("{file}- {{}}\n"));
        }
    }
    // A comment that is indented like a text.
    let file = format!("{head}- message: old\n    # b\n  {reference}");
    let changed = set_entry(file.as_bytes(), &OF_TEA, 0, entry, &Limits::default()).unwrap();
    assert_eq!(String::from_utf8(changed).unwrap(), file.replace("old", "new"));
}

#[test]
fn deprecations_are_found_whatever_their_name_is() {
    let head = "schema: olm.deprecations\npackage: tea\n";
    let target = Target { schema: DEPRECATIONS, package: "tea", name: "" };
    for name in ["", "name: tea\n"] {
        let file = format!("{head}{name}entries: []\n");
        let changed = set_entry(file.as_bytes(), &target, 0, "{}", &Limits::default()).unwrap();
        assert_eq!(String::from_utf8(changed).unwrap(), file.replace("[]", "[{}]"));
    }
    let missing = Target { package: "milk", ..target };
    let error = set_entry(head.as_bytes(), &missing, 0, "{}", &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the olm.deprecations does not exist in the file");
}

#[test]
fn a_text_that_cannot_be_changed_in_place_is_refused() {
    let refused = |entries: &str, index| set(&format!("{HEAD}{entries}\n"), index, ENTRY);
    assert!(matches!(refused("entries: *a\nx: &a []", 0), Err(Error::Syntax(_))));
    let merged = refused("<<: {entries: [{name: a}]}", 1);
    assert!(matches!(merged, Err(Error::Unchangeable { line: 1 })));
    let alias = format!("x: &a [{{name: b}}]\n{HEAD}entries: *a\n");
    assert!(matches!(set(&alias, 1, ENTRY), Err(Error::Unchangeable { line: 1 })));
    assert!(matches!(set("schema: a\n", 0, ENTRY), Err(Error::Missing { .. })));
    assert!(matches!(refused("entries: []", 7), Err(Error::Unchangeable { .. })));
}

#[test]
fn a_document_is_added_in_the_form_of_the_file() {
    let json = r#"{"schema":"a","name":"b"}"#;
    let yaml = "---\nname: b\nschema: a\n";
    let indented = "{\n    \"schema\": \"a\",\n    \"name\": \"b\"\n}\n";
    for (file, added) in [
        ("", yaml.to_owned()),
        ("schema: c\n", yaml.to_owned()),
        ("schema: c # d", format!("\n{yaml}")),
        ("schema: c\n---\n", yaml.to_owned()),
        ("{\"schema\": \"c\"}\n", indented.to_owned()),
        ("{\"schema\": \"c\"}{\"schema\": \"d\"}", format!("\n{indented}")),
        ("{\"schema\": \"c\"}\n---\nschema: d\n", yaml.to_owned()),
    ] {
        let changed = append(file.as_bytes(), json, &Limits::default()).unwrap();
        assert_eq!(String::from_utf8(changed).unwrap(), format!("{file}{added}"));
    }
    assert!(matches!(append(b"- a\n", json, &Limits::default()), Err(Error::Meta(_))));
}

#[test]
fn several_items_of_a_document_are_changed_at_once() {
    let target = Target { schema: CHANNEL, package: "tea", name: "stable" };
    let changed = |file: &str, items: &[(usize, &str)]| {
        let edit = |&(index, entry): &(usize, _)| Edit::SetEntry { target, index, entry };
        let edits: Vec<_> = items.iter().map(edit).collect();
        String::from_utf8(apply(file.as_bytes(), &edits, &Limits::default()).unwrap()).unwrap()
    };
    let [a, b, c] = ["a", "b", "c"].map(|name| format!(r#"{{"name":"{name}"}}"#));
    let items = [(3, c.as_str()), (0, a.as_str()), (2, "{}"), (2, b.as_str())];
    let block = format!("{HEAD}entries:\n- name: x # x\n- name: y # y\n");
    let expected = format!("{HEAD}entries:\n- name: a\n- name: y # y\n- name: b\n- name: c\n");
    assert_eq!(changed(&block, &items), expected);
    let flow = format!("{HEAD}entries: [] # x\n");
    assert_eq!(changed(&flow, &[(0, &a), (1, &b)]), format!("{HEAD}entries: [{a}, {b}] # x\n"));
    let head = r#"{"schema":"olm.channel","name":"stable","package":"tea","entries":["#;
    let json = format!(r#"{head}{{"name": "x"}}, {{"name": "y"}}]}}"#);
    let expected = format!(r#"{head}{{"name": "a"}}, {{"name": "y"}}, {b}, {c}]}}"#);
    assert_eq!(changed(&json, &items), expected);
    assert_eq!(changed(&format!("{head}]}}"), &[(0, &a), (1, &b)]), format!("{head}{a},{b}]}}"));
}

#[test]
fn several_documents_are_changed_at_once() {
    let channel = |name| Target { schema: CHANNEL, package: "tea", name };
    let set = |name, index, entry| Edit::SetEntry { target: channel(name), index, entry };
    let edits = [
        set("b", 1, r#"{"name":"v"}"#),
        Edit::Append { json: r#"{"schema":"c"}"#.into() },
        set("a", 0, r#"{"name":"x"}"#),
        set("b", 2, r#"{"name":"z"}"#),
        Edit::Append { json: r#"{"schema":"d"}"#.into() },
    ];
    let head = "schema: olm.channel\npackage: tea\n";
    let (a, b) = ("name: a\nentries: [", "name: b # b\nentries:\n- name: w\n");
    let other = "{schema: e} # braces\n";
    let file = format!("{head}{a}]\n---\n{other}---\n# c\n{head}{b}");
    N_READINGS.set(0);
    let changed = apply(file.as_bytes(), &edits, &Limits::default()).unwrap();
    // Once before the change, and once after it.
    assert_eq!(N_READINGS.get(), 2);
    // With the least memory, the second document is read once more.
    let with_least_memory = (0..10_000).step_by(8).find_map(|tree| {
        N_READINGS.set(0);
        apply(file.as_bytes(), &edits, &Limits::default().with_tree(tree)).ok()
    });
    assert_eq!((with_least_memory.as_ref(), N_READINGS.get()), (Some(&changed), 3));
    let x = r#"{"name":"x"}"#;
    let added = "- name: v\n- name: z\n---\nschema: c\n---\nschema: d\n";
    let expected = format!("{head}{a}{x}]\n---\n{other}---\n# c\n{head}{b}{added}");
    assert_eq!(String::from_utf8(changed).unwrap(), expected);
    let missing = [set("a", 0, x), set("c", 0, x)];
    let error = apply(file.as_bytes(), &missing, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the olm.channel c does not exist in the file");
}

#[test]
fn the_first_of_two_equal_documents_is_changed_also_in_braces_with_a_comment() {
    let document = "{schema: olm.channel, package: tea, name: stable, entries: []} # x\n";
    let file = format!("schema: a\n---\n{document}---\n{document}");
    let changed = set(&file, 0, ENTRY).unwrap();
    let first = document.replace("[]", &format!("[{ENTRY}]"));
    assert_eq!(changed, format!("schema: a\n---\n{first}---\n{document}"));
}

#[test]
fn the_indentation_of_all_new_items_has_a_limit() {
    let blanks = " ".repeat(MAX_INDENTED / 2);
    let error = set(&format!("{HEAD}entries:\n{blanks}- name: a\n"), 1, ENTRY).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: MAX_INDENTED }), "{error}");
    let limits = Limits::default().with_output(10_000);
    let target = Target { schema: CHANNEL, package: "tea", name: "stable" };
    let skips = |n| format!(r#"{{"name":"b","skips":[{}"x"]}}"#, r#""x","#.repeat(n));
    let blanks = " ".repeat(100);
    let block = format!("{HEAD}entries:\n{blanks}- name: a\n");
    let head = r#"{"schema":"olm.channel","name":"stable","package":"tea","entries":["#;
    let indented = format!("{head}\n{blanks}{{\n\"name\": \"a\"}}]}}\n");
    let deep = format!("{head}{{\n{blanks}\"name\": \"a\"}}]}}\n");
    let gap = format!("{head}{{}}, {blanks}{{\"name\": \"a\"}}]}}\n");
    for (file, n) in [(&block, 50), (&indented, 50), (&deep, 30)] {
        let [one, two, many] = [skips(n), skips(n), skips(2 * n)];
        let edit = |index, entry| Edit::SetEntry { target, index, entry };
        assert!(apply(file.as_bytes(), &[edit(1, &one)], &limits).is_ok(), "{file}");
        for edits in [vec![edit(1, &many)], vec![edit(1, &one), edit(2, &two)]] {
            let error = apply(file.as_bytes(), &edits, &limits).unwrap_err();
            assert!(matches!(error, Error::TooLarge { limit: 10_000 }), "{file}: {error}");
        }
    }
    let lines = |n| format!(r#"{{"name":"{}b"}}"#, r"a\n".repeat(n));
    let replace = |entry: &str| {
        apply(block.as_bytes(), &[Edit::SetEntry { target, index: 0, entry }], &limits)
    };
    assert!(replace(&lines(50)).is_ok());
    let error = replace(&lines(100));
    assert!(matches!(error, Err(Error::TooLarge { limit: 10_000 })), "{error:?}");
    let many: Vec<_> =
        (2..120).map(|index| Edit::SetEntry { target, index, entry: "{}" }).collect();
    assert!(apply(gap.as_bytes(), &many[..50], &limits).is_ok());
    let error = apply(gap.as_bytes(), &many, &limits).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 10_000 }), "{error}");
}
