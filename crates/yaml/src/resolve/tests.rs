use super::*;

const INT: Option<&str> = Some("tag:yaml.org,2002:int");
const FLOAT: Option<&str> = Some("tag:yaml.org,2002:float");

#[test]
fn integers_have_gos_prefixes() {
    for (text, value) in [
        ("0644", 420),
        ("0o17", 15),
        ("0O17", 15),
        ("-0b11", -3),
        ("0X1f", 31),
        ("0x1_F", 31),
        ("1__0", 10),
        ("+5", 5),
        ("-0", 0),
        ("00", 0),
        ("0b-1", -1),
        ("0b+1", 1),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(resolve(None, text), Ok(Value::Int(value)), "{text}");
    }
    assert_eq!(resolve(None, "18446744073709551615"), Ok(Value::Uint(u64::MAX)));
}

#[test]
fn floats_are_what_gos_pattern_takes() {
    for (text, value) in [
        ("08", 8.0),
        ("1.", 1.0),
        ("+.5", 0.5),
        (".5_0", 0.5),
        (".5e1_0", 5e9),
        ("1_0.5", 10.5),
        ("1e3", 1000.0),
        ("+18446744073709551615", 18_446_744_073_709_551_615.0),
    ] {
        assert_eq!(resolve(None, text), Ok(Value::Float(value)), "{text}");
    }
}

#[test]
fn text_that_only_looks_like_a_number_is_text() {
    for text in [
        ".",
        "._5",
        ".5_",
        ".5__0",
        ".e1",
        ".5e",
        "0x",
        "0b",
        "0b12",
        "-0b-1",
        "+",
        "1e",
        "1e400",
        "_1",
        "1:30",
        "0x1p-2",
        "infinity",
        "-.5_0x",
        "1.5.2",
        "2001-12-14",
    ] {
        assert_eq!(resolve(None, text), Ok(Value::Text), "{text}");
    }
}

#[test]
fn tags_must_fit() {
    assert_eq!(resolve(INT, "1"), Ok(Value::Int(1)));
    assert_eq!(resolve(FLOAT, "1"), Ok(Value::Float(1.0)));
    for (tag, text) in [(INT, "x"), (INT, ""), (INT, "1.5"), (FLOAT, "18446744073709551615")] {
        assert!(resolve(tag, text).is_err(), "{tag:?} {text}");
    }
    let other = Some("tag:yaml.org,2002:str");
    assert_eq!(resolve(other, "1"), Ok(Value::Text));
    assert_eq!(resolve(Some("!foo"), "1"), Ok(Value::Text));
}

#[test]
fn binary_is_gos_base64() {
    let tag = Some("tag:yaml.org,2002:binary");
    assert_eq!(resolve(tag, "aGk="), Ok(Value::Bytes(b"hi".to_vec())));
    assert_eq!(resolve(tag, "aG\nk=\r\n"), Ok(Value::Bytes(b"hi".to_vec())));
    assert_eq!(resolve(tag, "aGl="), Ok(Value::Bytes(b"hi".to_vec())));
    for text in ["aGk", "a Gk=", "!", "aGk=="] {
        assert!(resolve(tag, text).is_err(), "{text}");
    }
}
