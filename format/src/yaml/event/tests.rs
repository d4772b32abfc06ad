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
    let error = crate::yaml::to_json(b"[!a, b]", &crate::yaml::Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Parser { .. }), "{error}");
}
