//! Finds the lines of problems, by reading their documents again.

use std::collections::BTreeMap;
use std::io::Read;

use unlade_catalog::{Limits, Problem};
use unlade_yaml::Documents;

/// The maximum size of all documents that are read again, in bytes. A document counts once for each
/// of its problems. The remaining problems keep the line where their document begins.
const MAX_READ: usize = 64 << 20;

/// Sets the lines of the problems that have only the line of their document so far.
pub(crate) fn locate<R: Read>(
    problems: &mut [Problem],
    open: impl Fn(&str) -> Result<R, String>,
    limits: &Limits,
) {
    let mut by_file: BTreeMap<_, BTreeMap<u64, Vec<&mut Problem>>> = BTreeMap::new();
    for problem in problems.iter_mut().filter(|problem| !problem.place.path.is_empty()) {
        let lines = by_file.entry(problem.place.file.clone()).or_default();
        lines.entry(problem.place.document).or_default().push(problem);
    }
    let mut n_read = 0;
    for (file, mut lines) in by_file {
        let Ok(input) = open(&file) else { continue };
        let mut documents = Documents::new(input, &limits.document);
        // A file that has changed since it was read has other lines, or none.
        while !lines.is_empty()
            && let Ok(Some(part)) = documents.next()
        {
            for problem in lines.remove(&part.line).into_iter().flatten() {
                n_read += part.text.len();
                if n_read > MAX_READ {
                    return;
                }
                problem.place.locate(part.text, &limits.document);
            }
        }
    }
}
