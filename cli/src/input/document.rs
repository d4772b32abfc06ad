//! Splits a stream into its documents.
//!
//! A line that starts with `---` or `...` always separates documents: YAML does not allow such a
//! line inside a scalar, and JSON does not allow a line break inside a string. So the stream is
//! split without parsing it, as in kubectl, and each document is parsed on its own.

/// Returns the documents of `text`, without those that contain only blanks and comments.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut position = 0;
    let mut seen = Seen::Nothing;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let is_marker = is_marker(line);
        // Directives belong to the document after the marker.
        if is_marker && seen != Seen::Directive {
            if seen == Seen::Content {
                documents.extend(text.get(start..position));
            }
            start = position;
            seen = Seen::Nothing;
        }
        position += line.len();
        seen = seen.max(Seen::in_line(line, is_marker));
        if is_marker && line.starts_with(b"...") {
            start = position;
            seen = Seen::Nothing;
        } else if is_marker && seen == Seen::Directive {
            seen = Seen::Nothing;
        }
    }
    if seen == Seen::Content {
        documents.extend(text.get(start..));
    }
    documents
}

/// What the lines of a document have contained so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// Only blanks and comments.
    Nothing,
    /// A directive before a document, such as `%YAML 1.1`.
    Directive,
    /// Content.
    Content,
}

impl Seen {
    fn in_line(line: &[u8], is_marker: bool) -> Self {
        let rest = if is_marker { line.get(3..).unwrap_or_default() } else { line };
        match rest.trim_ascii().first() {
            None | Some(b'#') => Self::Nothing,
            Some(b'%') if line.starts_with(b"%") => Self::Directive,
            Some(_) => Self::Content,
        }
    }
}

fn is_marker(line: &[u8]) -> bool {
    let behind = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
    behind.is_some_and(|behind| behind.first().is_none_or(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests {
    use super::split;

    fn documents(text: &str) -> Vec<&str> {
        split(text.as_bytes()).into_iter().map(|part| std::str::from_utf8(part).unwrap()).collect()
    }

    #[test]
    fn markers_separate_documents() {
        assert_eq!(documents("a: 1\n---\nb: 2\n"), ["a: 1\n", "---\nb: 2\n"]);
        assert_eq!(documents("--- {a: 1}\n--- # c\nb: 2"), ["--- {a: 1}\n", "--- # c\nb: 2"]);
        assert_eq!(documents("a: 1\r\n---\r\nb: 2\r\n"), ["a: 1\r\n", "---\r\nb: 2\r\n"]);
        assert_eq!(documents("a: 1\n...\nb: 2\n...\n"), ["a: 1\n", "b: 2\n"]);
    }

    #[test]
    fn text_that_only_looks_like_a_marker_does_not() {
        for text in ["a: |\n  ---\n  b\n", "---x: 1\n", "----\n", "a:\n- b\n"] {
            assert_eq!(documents(text), [text]);
        }
    }

    #[test]
    fn documents_without_content_are_left_out() {
        assert_eq!(documents("\n# c\n---\n---\n# d\n---\na: 1\n---\n"), ["---\na: 1\n"]);
        assert!(documents("").is_empty());
        assert!(documents("---\n...\n---\n\n").is_empty());
    }

    #[test]
    fn directives_stay_with_their_document() {
        let documents = documents("%YAML 1.1\n# c\n---\na: 1\n---\nb: 2\n");
        assert_eq!(documents, ["%YAML 1.1\n# c\n---\na: 1\n", "---\nb: 2\n"]);
    }
}
