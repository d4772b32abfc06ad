//! `unlade catalog diff`.

use super::{VALID, write};
use crate::run::unlade;

const TEXT: &str = "package tea
  ~ channel stable: head: tea.v1 -> tea.v2
  + channel stable, entry tea.v2: replaces tea.v1
  ~ bundle tea.v1: image: registry.example/tea:1 -> registry.example/tea:1a
  + bundle tea.v2: 2.0.0 registry.example/tea:2
";

/// Returns `VALID` with a new version and a changed image.
fn changed() -> String {
    let bundle = "---\nschema: olm.bundle\nname: tea.v2\npackage: tea\nimage: \
                  registry.example/tea:2\nproperties:\n- type: olm.package\n  value: \
                  {packageName: tea, version: 2.0.0}\n";
    let entries = "entries:\n- {name: tea.v2, replaces: tea.v1}\n";
    VALID.replace("entries:\n", entries).replace("tea:1\n", "tea:1a\n") + bundle
}

#[test]
fn the_changes_of_a_release_are_listed() {
    let (old, new) = (write(VALID), write(&changed()));
    let [old, new] = [&old, &new].map(|directory| directory.path().to_str().unwrap());
    assert_eq!(unlade(["catalog", "diff", old, new]).success(), TEXT);
    let markdown = unlade(["catalog", "diff", old, new, "-o", "markdown"]).success();
    assert!(
        markdown.starts_with("## Package `tea`\n\n| | part | before | after |\n"),
        "{markdown}"
    );
    let row = "| changed | channel `stable`: head | `tea.v1` | `tea.v2` |\n";
    assert!(markdown.contains(row), "{markdown}");
    let json = unlade(["catalog", "diff", old, new, "-o", "json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["changes"][1],
        serde_json::json!({
            "package": "tea", "channel": "stable", "bundle": "tea.v2", "subject": "entry",
            "old": null, "new": "replaces tea.v1",
        })
    );
}

#[test]
fn the_exit_code_tells_equal_different_and_not_compared_apart() {
    let (old, new) = (write(VALID), write(&changed()));
    let [old, new] = [&old, &new].map(|directory| directory.path().to_str().unwrap());
    let run = |new| unlade(["catalog", "diff", old, new, "--exit-code"]);
    assert_eq!(run(old).success(), "");
    let different = run(new);
    assert_eq!(
        (different.code, different.stdout.as_str(), different.stderr.as_str()),
        (Some(1), TEXT, "")
    );
    let missing = run("no-such-directory");
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("failed to open the catalog no-such-directory"), "{missing:?}");
    let missing = unlade(["catalog", "diff", old, "no-such-directory"]);
    assert_eq!(missing.code, Some(1));
    let broken = write("schema: [\n");
    assert_eq!(run(broken.path().to_str().unwrap()).code, Some(3));
}
