//! Finds the lines of problems, by reading their documents again.
//!
//! The documents of a file share one budget. A document of JSON is read as YAML, too, if one of its
//! lines is looked up.

use std::collections::BTreeMap;
use std::io::Read;

use unlade_catalog::{Limits, Place, Problem};
use unlade_yaml::{Documents, Reader};

/// Sets the lines of the problems that have only the line of their document so far. Reads at most
/// `max_bytes` of all files; the problems after them keep the line of their document.
pub(crate) fn locate<R: Read>(
    problems: &mut [Problem],
    open: impl Fn(&str) -> Result<R, String>,
    limits: &Limits,
    mut max_bytes: u64,
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
        let mut input = input.take(max_bytes);
        let mut documents = Documents::new(&mut input, &reader);
        // A file that has changed since it was read has other lines, or none.
        while !places.is_empty()
            && let Ok(Some(part)) = documents.next()
        {
            if let Some(mut places) = places.remove(&part.line) {
                unlade_catalog::locate(&mut places, part.text, &reader);
            }
        }
        max_bytes = input.limit();
    }
}

#[cfg(test)]
mod tests {
    use unlade_catalog::{Catalog, File};

    use super::*;

    #[test]
    fn only_a_limited_number_of_bytes_is_read_again() {
        let text = "---\nschema: olm.package\nname: x\nz: 0\n";
        let limits = Limits::default();
        let lines = |max_bytes| {
            let mut catalog = Catalog::default();
            for name in ["a", "b", "c"] {
                catalog.add(File::read(name, text.as_bytes(), &limits));
            }
            let mut problems = catalog.validate();
            problems.retain(|it| it.message.contains("z is unknown"));
            locate(&mut problems, |_| Ok(text.as_bytes()), &limits, max_bytes);
            problems.iter().map(|it| it.place.line).collect::<Vec<_>>()
        };
        let size = text.len() as u64;
        assert_eq!(lines(3 * size), [4; 3]);
        assert_eq!(lines(2 * size), [4, 4, 1]);
        assert_eq!(lines(0), [1; 3]);
    }
}
