//! The catalog of tests in which the content does not matter.

/// A catalog with one package of one bundle.
pub(crate) const CATALOG: &str = "schema: olm.package\nname: tea\ndefaultChannel: stable\n---\n\
    schema: olm.channel\nname: stable\npackage: tea\nentries: [{name: tea.v1}]\n---\n\
    schema: olm.bundle\nname: tea.v1\npackage: tea\nimage: registry.example/tea:1\n\
    properties:\n- {type: olm.package, value: {packageName: tea, version: 1.0.0}}\n";
