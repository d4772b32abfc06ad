//! What registries send, and the files about them.

use std::fs;

use unlade_name::ImageReference;
use unlade_registry::{fuzz, limit::FILE};

use super::image::scratch;
use crate::image::parts;

/// The maximum size of the headers and of a small response of a registry, in bytes.
const HEADERS: usize = 64 << 10;
const ANSWER: usize = 1 << 20;

pub(super) fn response(input: &[u8]) {
    let parts = parts(input);
    let part = |at: usize, limit: usize| {
        let part = parts.get(at).copied().unwrap_or_default();
        part.get(..limit).unwrap_or(part)
    };
    if let Some(realm) = fuzz::challenges(part(0, HEADERS)) {
        let _ = fuzz::redirect(&realm);
    }
    if let Err(said) = fuzz::token(part(1, ANSWER)) {
        assert!(said.len() < 4 << 10, "a message of {} bytes", said.len());
    }
    let _ = fuzz::range(part(2, HEADERS));
    if let Some(address) = fuzz::redirect(&String::from_utf8_lossy(part(3, HEADERS))) {
        assert!(address.starts_with("http"), "{address}");
    }
}

pub(super) fn credentials(input: &[u8]) {
    let Some((image, bytes)) = named(input) else { return };
    if let Some(exported) = fuzz::credentials(bytes, &image) {
        let again = fuzz::credentials(exported.as_bytes(), &image);
        assert_eq!(again.as_ref(), Some(&exported), "exported and read again");
    }
}

pub(super) fn configuration(input: &[u8]) {
    let Some((image, bytes)) = named(input) else { return };
    let text = String::from_utf8_lossy(bytes);
    if let Ok(places) = fuzz::places(&text, &image) {
        let last = places.last().map(ImageReference::is_digest);
        assert_eq!(last, Some(image.is_digest()), "{places:?}");
    }
}

/// Reads a directory with certificates of authorities and of the client.
pub(super) fn certificates(input: &[u8]) {
    let parts = parts(input);
    scratch(|directory| {
        let registry = directory.join("registry.example");
        let created = fs::create_dir(&registry);
        assert!(created.is_ok(), "{created:?}");
        for (name, bytes) in ["a.crt", "b.cert", "b.key"].into_iter().zip(parts) {
            let written = fs::write(registry.join(name), bytes);
            assert!(written.is_ok(), "{written:?}");
        }
        if let Err(said) = fuzz::certificates(directory, "registry.example") {
            assert!(said.len() < 4 << 10, "a message of {} bytes", said.len());
        }
    });
}

/// Splits the name of an image from the rest, of which the reader takes a limited size.
fn named(input: &[u8]) -> Option<(ImageReference, &[u8])> {
    let parts = parts(input);
    let [image, bytes, ..] = parts.as_slice() else { return None };
    let image = ImageReference::parse(String::from_utf8_lossy(image).trim()).ok()?;
    let limit = usize::try_from(FILE).unwrap_or(usize::MAX);
    Some((image, bytes.get(..limit).unwrap_or(bytes)))
}
