//! `unlade catalog graph`.

use super::{VALID, write};
use crate::run::unlade;

const CHANNEL: &str = "schema: olm.channel
name: stable
package: tea
entries:
- {name: tea.v3, replaces: tea.v1, skips: [tea.v2]}
- {name: tea.v2, replaces: tea.v1}
- {name: tea.v1}
- {name: tea.v0, replaces: tea.v0}
";

/// `tests/tests/catalog.rs` compares with the answers of opm.
const MERMAID: &str = "graph LR
  classDef deprecated fill:#E8960F
  classDef skipped stroke:#FF0000,stroke-width:4px
  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px
  %% package \"tea\"
  subgraph \"tea\"
    %% channel \"stable\"
    subgraph tea-stable[\"stable\"]
      tea-stable-tea.v3[\"tea.v3\"]
      tea-stable-tea.v2[\"tea.v2\"]-- skip --> tea-stable-tea.v3[\"tea.v3\"]
      tea-stable-tea.v1[\"tea.v1\"]-- replace --> tea-stable-tea.v3[\"tea.v3\"]
      tea-stable-tea.v2[\"tea.v2\"]
      tea-stable-tea.v1[\"tea.v1\"]-- replace --> tea-stable-tea.v2[\"tea.v2\"]
      tea-stable-tea.v1[\"tea.v1\"]
      tea-stable-tea.v0[\"tea.v0\"]
      tea-stable-tea.v0[\"tea.v0\"]-- replace --> tea-stable-tea.v0[\"tea.v0\"]
    end
  end
class tea-stable-tea.v1 deprecated
";

/// Returns a catalog with a stranded, a skipped and a deprecated entry.
fn catalog() -> tempfile::TempDir {
    let bundle = |version: u8| {
        format!(
            "---\nschema: olm.bundle\nname: tea.v{version}\npackage: tea\nimage: \
             registry.example/tea:{version}\nproperties:\n- type: olm.package\n  value: \
             {{packageName: tea, version: {version}.0.0}}\n"
        )
    };
    let deprecations = "---\nschema: olm.deprecations\npackage: tea\nentries:\n\
                        - {reference: {schema: olm.bundle, name: tea.v1}, message: old}\n";
    let bundles: String = (0..4).map(bundle).collect();
    let package = "---\nschema: olm.package\nname: tea\ndefaultChannel: stable\n";
    write(&format!("{CHANNEL}{bundles}{deprecations}{package}"))
}

#[test]
fn the_default_is_the_mermaid_text_of_opm() {
    let catalog = catalog();
    let finished = unlade(["catalog", "graph", catalog.path().to_str().unwrap()]);
    assert_eq!(finished.stdout, MERMAID);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.contains("no chain of replacements leads from the head to tea.v0"));
}

#[test]
fn marks_are_added_to_the_text() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    let marked = unlade(["catalog", "graph", path, "--marks"]).success();
    for class in ["tea.v3 head", "tea.v2 skipped", "tea.v0 stranded"] {
        assert!(marked.contains(&format!("class tea-stable-{class}\n")), "{class}\n{marked}");
    }
    let v0 = unlade(["catalog", "graph", path, "--draw-v0-semantics"]).success();
    assert!(v0.contains("class tea-stable-tea.v2 skipped\nlinkStyle 2 stroke:#FF0000"), "{v0}");
}

#[test]
fn a_minimum_removes_lower_versions() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    let graph = unlade(["catalog", "graph", path, "--minimum-edge", "tea.v2"]).success();
    assert!(graph.contains("tea.v2[\"tea.v2\"]-- skip --> tea-stable-tea.v3"), "{graph}");
    assert!(!graph.contains("tea.v0") && !graph.contains("replace"), "{graph}");
    let stderr = unlade(["catalog", "graph", path, "--minimum-edge", "tea.v9"]).failure(1);
    assert!(stderr.contains("the catalog does not contain the bundle tea.v9"), "{stderr}");
}

#[test]
fn dot_and_svg_have_a_node_for_each_entry() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    let dot = unlade(["catalog", "graph", path, "-o", "dot"]).success();
    assert!(dot.contains("n0_1 [label=\"tea.v2\", color=\"#FF0000\"];"), "{dot}");
    assert!(dot.contains("n0_2 -> n0_0 [label=\"replaces\"];"), "{dot}");
    let svg = unlade(["catalog", "graph", path, "-o", "svg", "-p", "tea"]).success();
    assert_eq!(svg.matches("<rect class=\"entry").count(), 4, "{svg}");
    let stderr = unlade(["catalog", "graph", path, "-p", "coffee"]).failure(1);
    assert!(stderr.contains("package coffee does not exist"), "{stderr}");
}

#[test]
fn a_package_that_only_a_channel_names_is_drawn() {
    let catalog = write(CHANNEL);
    let path = catalog.path().to_str().unwrap();
    let all = unlade(["catalog", "graph", path]);
    let of_package = unlade(["catalog", "graph", path, "-p", "tea"]);
    assert_eq!((of_package.code, of_package.stdout), (Some(0), all.stdout));
}

#[test]
fn a_catalog_that_was_not_read_completely_is_not_drawn() {
    let catalog = write(&format!("{VALID}---\n{{\n"));
    let stderr = unlade(["catalog", "graph", catalog.path().to_str().unwrap()]).failure(3);
    assert!(stderr.contains("is invalid: 1 error"), "{stderr}");
}
