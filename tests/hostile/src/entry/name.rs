//! Names, versions and arguments.

use std::ffi::OsString;

use unlade_bundle::{ConfigMapKey, version};
use unlade_name::ImageReference;
use unlade_oci::{Platform, Source};
use unlade_unpacker::fuzz;

use super::{CHECKED_AGAIN, explain};

/// The maximum length of a range that is also read twice in one text, in bytes.
const HALF_OF_A_RANGE: usize = version::range::MAX_LEN / 2 - 8;

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
        if let Ok(platform) = line.parse::<Platform>() {
            assert_eq!(platform.to_string().parse(), Ok(platform), "read back another platform");
        }
        if let Ok(key) = ConfigMapKey::from_file_name(line) {
            assert!(ConfigMapKey::parse(key.as_str()).is_ok(), "{key:?} is not a key");
        }
    }
    let arguments: Vec<_> = text.lines().collect();
    let parse = |arguments: &[&str]| fuzz::arguments(arguments.iter().map(OsString::from));
    if let (Ok(command), [first, option, value, rest @ ..]) = (parse(&arguments), &*arguments)
        && input.len() <= CHECKED_AGAIN
        && option.starts_with("--")
        && !option.contains('=')
    {
        // The value of an option may be a part of the same argument.
        let joined = format!("{option}={value}");
        if let Ok(again) = parse(&[&[*first, &joined], rest].concat()) {
            assert_eq!(again, command, "{joined}");
        }
    }
}

pub(super) fn range(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (text, version) = text.split_once('\n').unwrap_or((&text, "1.2.3"));
    let range: version::Range = match text.parse() {
        Ok(range) => range,
        Err(error) => {
            explain(&error);
            return;
        }
    };
    let Ok(mut version) = version::parse(version) else { return };
    let is_in = range.matches(&version);
    if let Ok(build) = "build.1".parse() {
        version.build = build;
        assert_eq!(range.matches(&version), is_in, "build metadata counts");
    }
    // An operator at the end, which is dropped, would belong to what follows.
    if text.len() <= HALF_OF_A_RANGE && !text.trim_end_matches(' ').ends_with(['<', '>', '=']) {
        let twice = format!(" {text} || {text}").parse::<version::Range>();
        let again = twice.map(|twice| twice.matches(&version));
        assert!(again.as_ref().is_ok_and(|again| *again == is_in), "{again:?} if it is twice");
    }
}
