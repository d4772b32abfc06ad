//! Finds the lines of problems, by reading their documents again.
//!
//! The documents of a file share one budget. A document of JSON is read as YAML, too, if one of its
//! lines is looked up.

use std::collections::BTreeMap;
use std::io::Read;

use unlade_catalog::{Limits, Place, Problem};
use unlade_yaml::{Documents, Reader};

/// Sets the lines of the problems that have only the line of their document so far.
pub(crate) fn locate<R: Read>(
    problems: &mut [Problem],
    open: impl Fn(&str) -> Result<R, String>,
    limits: &Limits,
) {
    let mut by_file: BTreeMap<_, BTreeMap<u64, Vec<&mut Place>>> = BTreeMap::new();
    let places = problems.iter_mut().map(|problem| &mut problem.place);
    for place in places.filter(|place| !place.path.is_empty()) {
        let documents = by_file.entry(place.file.clone()).or_default();
        documents.entry(place.document).or_default().push(place);
    }
    for (file, mut places) in by_file {
        let Ok(input) = open(&file) else { continue };
        let reader = Reader::new(&limits.document);
        let mut documents = Documents::new(input, &reader);
        // A file that has changed since it was read has other lines, or none.
        while !places.is_empty()
            && let Ok(Some(part)) = documents.next()
        {
            if let Some(mut places) = places.remove(&part.line) {
                unlade_catalog::locate(&mut places, part.text, &reader);
            }
        }
    }
}
