//! Names, versions and arguments.

use std::ffi::OsString;

use unlade_bundle::{ConfigMapKey, version};
use unlade_name::ImageReference;
use unlade_oci::{Platform, Source};
use unlade_unpacker::fuzz;

use super::explain;

pub(super) fn reference(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for line in text.lines() {
        match line.parse::<Source>() {
            Ok(source) => {
                let again = source.to_string().parse::<Source>();
                assert_eq!(again.as_ref(), Ok(&source), "read back another source");
            }
            Err(error) => {
                explain(&error);
                let _ = error.hint();
            }
        }
        match ImageReference::parse(line) {
            Ok(image) => {
                let again = ImageReference::parse(image.as_str());
                assert!(again.is_ok_and(|again| again == image), "read back another image");
                let _ = (image.registry(), image.repository(), image.tag(), image.digest());
            }
            Err(error) => {
                explain(&error);
            }
        }
        let _ = line.parse::<Platform>();
        if let Ok(key) = ConfigMapKey::from_file_name(line) {
            assert!(ConfigMapKey::parse(key.as_str()).is_ok(), "{key:?} is not a key");
        }
    }
    let _ = fuzz::arguments(text.lines().map(OsString::from));
}

pub(super) fn range(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (range, version) = text.split_once('\n').unwrap_or((&text, "1.2.3"));
    let version = version::parse(version);
    match range.parse::<version::Range>() {
        Ok(range) => {
            if let Ok(version) = version {
                let _ = range.matches(&version);
            }
        }
        Err(error) => {
            explain(&error);
        }
    }
}
