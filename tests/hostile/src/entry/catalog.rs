//! File-based catalogs.

use unlade_catalog::{Catalog, File, Limits, MAX_PROBLEMS};

/// Checks that a file of a catalog always has the same problems, and that each names the file.
pub(super) fn file(input: &[u8]) {
    let limits = Limits::default();
    let validate = || {
        let mut catalog = Catalog::default();
        catalog.add(File::read("catalog.yaml", input, &limits));
        catalog.validate()
    };
    let problems = validate();
    // Those of each severity, and the number of the others.
    assert!(problems.len() <= 2 * (MAX_PROBLEMS + 1), "{} problems", problems.len());
    for problem in &problems {
        assert!(problem.to_string().starts_with("catalog.yaml"), "{problem}");
    }
    assert_eq!(problems, validate(), "the problems differ from one time to the next");
}
