use super::*;

fn json(text: &str) -> Result<String, Error> {
    to_json(text.as_bytes(), &Limits::default())
}

#[test]
fn a_document_without_content_is_null() {
    for text in ["", "# c", "---", " \n"] {
        assert_eq!(json(text).unwrap(), "null", "{text:?}");
    }
}

#[test]
fn annotations_keep_their_source_text() {
    let text = b"a: 4.10\nyes: 007\nb: ~\nc:\nd: !!int 0x10\ne: !!binary aGk=\nf: \"1\"\n";
    let tree = read(text, Scalars::Source, &Limits::default()).unwrap();
    let expected = r#"{"a":"4.10","b":null,"c":null,"d":16,"e":"hi","f":"1","yes":"007"}"#;
    assert_eq!(tree.root().to_json(), expected);
}
