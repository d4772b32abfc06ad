//! Reads the list of images to launch.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

use unlade_name::ImageReference;

use crate::{error::Error, input::Origin, object_name};

/// The maximum size of a list, in bytes: enough for tens of thousands of images.
const MAX_SIZE: usize = 4 << 20;

/// Returns the images of the command line, followed by those of the list. Each image is returned
/// once.
pub(super) fn images(arguments: Vec<String>, list: Option<&Path>) -> Result<Vec<String>, Error> {
    let mut images = arguments;
    if let Some(path) = list {
        let origin = Origin::new(Some(path.to_owned()))?;
        let bytes = origin.read(MAX_SIZE)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::Usage(format!("{} is not UTF-8", origin.name())))?;
        for (number, image) in parse(&text) {
            let refused =
                |error: &dyn Display| Error::Usage(format!("{}:{number}: {error}", origin.name()));
            let image = object_name::parse_image(image).map_err(|error| refused(&error))?;
            // An invalid line shows that the file is not a list, or that the list has a mistake.
            // Both are reported before a part of the list is launched.
            ImageReference::parse(&image).map_err(|error| refused(&error))?;
            images.push(image);
        }
        if images.is_empty() {
            return Err(Error::Usage(format!("{} contains no image", origin.name())));
        }
    }
    let mut seen = BTreeSet::new();
    images.retain(|image| seen.insert(image.clone()));
    Ok(images)
}

/// Parses a list with one image per line, and returns the images with the numbers of their lines,
/// which start at 1. `#` starts a comment at the start of a line or after a
/// blank.
fn parse(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .map(|(number, line)| {
            let comment = line.match_indices('#').find(|(at, _)| {
                line.get(..*at)
                    .is_none_or(|before| before.chars().next_back().is_none_or(char::is_whitespace))
            });
            let kept = comment.and_then(|(at, _)| line.get(..at)).unwrap_or(line);
            (number, kept.trim())
        })
        .filter(|(_, image)| !image.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_comments_and_blank_lines() {
        let text = "\u{feff}# all\na/b:1\r\n\n  c/d@sha256:0 # the last one\n#e\n\tf#g\n";
        let images: Vec<_> = parse(text).collect();
        assert_eq!(images, [(2, "a/b:1"), (4, "c/d@sha256:0"), (6, "f#g")]);
    }

    #[test]
    fn a_repeated_image_is_returned_once() {
        let given = ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(images(given, None).unwrap(), ["b", "a"]);
    }
}
