use super::*;

struct Panicking;

impl Parser for Panicking {
    fn next(&mut self) -> Result<Event, Failure> {
        panic!("in line {}", 7)
    }
}

#[test]
fn a_panic_of_the_parser_is_an_error() {
    let result = run(Panicking, |_| Ok(()));
    let Err(Failure::Final(Error::Parser { problem })) = result else { panic!("{result:?}") };
    assert_eq!(problem, "in line 7");
}

#[test]
fn a_real_panic_of_the_library_is_an_error() {
    // libyaml-safer 0.3.0: `panic!("TODO: What is expected here?")` in `scan_tag`.
    let error = crate::to_json(b"[!a, b]", &crate::Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Parser { .. }), "{error}");
}

/// The same panic. In Go, the comma ends the tag.
#[test]
fn a_comma_after_a_tag_is_refused() {
    use crate::{Limits, to_json};
    for text in ["[!!str, b]", "{a: !!str, b: c}"] {
        let error = to_json(text.as_bytes(), &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::Parser { .. }), "{text}: {error}");
    }
    assert!(to_json(b"[!!str , b]", &Limits::default()).is_ok());
    // It is not reported as an error in JSON either, although JSON is tried first.
    let object = b"{kind: A, a: !!str, b: c}";
    let error = crate::decode_unstructured(object, &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Parser { .. }), "{error}");
}

/// The library counts bytes, but Go counts characters.
#[test]
fn simple_keys_have_at_most_1024_bytes() {
    use crate::{Limits, to_json};
    let read = |key: String| to_json(format!("{key}: 1\n").as_bytes(), &Limits::default());
    assert!(read("a".repeat(1020)).is_ok());
    assert!(read("a".repeat(1030)).is_err());
    assert!(read("é".repeat(510)).is_ok());
    assert!(read("é".repeat(600)).is_err());
}
