//! Writes data to standard output.

use std::io::{self, Write};

use serde::{Serialize, Serializer, ser::Error as _, ser::SerializeSeq as _};
use serde_json::{Value, json};
use unlade_text::{self as text, Escaping};
use unlade_yaml as yaml;

/// The format of a sequence of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One indented JSON document.
    Json,
    /// One JSON document per line.
    JsonLines,
    /// YAML documents separated by `---`.
    Yaml,
}

/// Writes a sequence of documents.
#[derive(Debug)]
pub(crate) struct Documents<W> {
    form: Form,
    to: W,
    n_written: usize,
}

impl<W: Write> Documents<W> {
    pub(crate) fn new(form: Form, to: W) -> Self {
        Self { form, to, n_written: 0 }
    }

    /// Writes a document.
    pub(crate) fn write(&mut self, document: &impl Serialize) -> io::Result<()> {
        match self.form {
            Form::Json => serde_json::to_writer_pretty(Escaping(&mut self.to), document)?,
            Form::JsonLines => serde_json::to_writer(Escaping(&mut self.to), document)?,
            Form::Yaml => {
                if self.n_written > 0 {
                    self.to.write_all(b"---\n")?;
                }
                yaml::write_to(&serde_json::to_value(document)?, &mut self.to)?;
            }
        }
        self.n_written += 1;
        if self.form == Form::Yaml { Ok(()) } else { self.to.write_all(b"\n") }
    }

    /// Writes a document that is a list. Only one item at a time is a value in memory.
    pub(crate) fn write_list(&mut self, items: &[impl Serialize]) -> io::Result<()> {
        let ([first, rest @ ..], Form::Yaml) = (items, self.form) else {
            return self.write(&items);
        };
        self.write(&[first])?;
        self.write_items(rest)
    }

    /// Writes a List of the objects of a cluster, as kubectl does. Only one object at a time is a
    /// value in memory.
    pub(crate) fn write_objects(&mut self, items: &[impl Serialize]) -> io::Result<()> {
        let metadata = json!({"resourceVersion": ""});
        if self.form != Form::Yaml || items.is_empty() {
            return self.write(&List { api_version: "v1", items, kind: "List", metadata });
        }
        self.write(&json!({"apiVersion": "v1"}))?;
        // As in kubectl, the items of a list in a mapping are not indented.
        self.to.write_all(b"items:\n")?;
        self.write_items(items)?;
        yaml::write_to(&json!({"kind": "List", "metadata": metadata}), &mut self.to)
    }

    /// Writes items of a YAML list.
    fn write_items(&mut self, items: &[impl Serialize]) -> io::Result<()> {
        items
            .iter()
            .try_for_each(|item| yaml::write_to(&serde_json::to_value([item])?, &mut self.to))
    }

    /// Flushes the output.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A List of the objects of a cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", bound = "T: Serialize")]
struct List<'a, T> {
    api_version: &'static str,
    #[serde(serialize_with = "serialize_values")]
    items: &'a [T],
    kind: &'static str,
    metadata: Value,
}

/// Serializes each item as a value, because the keys of a value are sorted, as kubectl sorts them.
fn serialize_values<T: Serialize, S: Serializer>(
    items: &&[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(items.len()))?;
    for item in *items {
        sequence.serialize_element(&serde_json::to_value(item).map_err(S::Error::custom)?)?;
    }
    sequence.end()
}

/// A writer that passes on a limited number of bytes, and fails beyond them.
#[derive(Debug)]
pub(crate) struct Limited<W> {
    to: W,
    limit: usize,
    remaining: usize,
}

/// The output is larger than a [`Limited`] passes on.
#[derive(Debug, thiserror::Error)]
#[error("the output has more than {limit} bytes")]
struct TooLarge {
    limit: usize,
}

impl<W> Limited<W> {
    pub(crate) fn new(to: W, limit: usize) -> Self {
        Self { to, limit, remaining: limit }
    }
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let too_large = || io::Error::other(TooLarge { limit: self.limit });
        self.remaining = self.remaining.checked_sub(bytes.len()).ok_or_else(too_large)?;
        self.to.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes one indented JSON document to standard output.
pub(crate) fn print_json(document: &impl Serialize) -> io::Result<()> {
    let mut documents = Documents::new(Form::Json, stdout());
    documents.write(document)?;
    documents.finish()
}

/// Writes all of `text` to standard output.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush())
}

/// Writes `lines` to standard output, and escapes them. They can contain names that an API server
/// sent.
pub(crate) fn print_lines(lines: impl IntoIterator<Item = String>) -> io::Result<()> {
    let mut stdout = stdout();
    lines.into_iter().try_for_each(|line| writeln!(stdout, "{}", text::line(&line)))?;
    stdout.flush()
}

/// Returns standard output with a large buffer. Without it, the output would be written line by
/// line, even to a pipe.
pub(crate) fn stdout() -> impl Write {
    io::BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An object that counts how many objects were serialized.
    struct Object<'n>(&'n Cell<usize>);

    impl Serialize for Object<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.serialize_str("object")
        }
    }

    /// The counts of an [`Object`] when something was written.
    struct Counts<'n>(&'n Cell<usize>, Vec<usize>);

    impl Write for Counts<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.push(self.0.get());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns what `write` writes in this form.
    fn text_of(
        form: Form,
        write: impl FnOnce(&mut Documents<&mut Vec<u8>>) -> io::Result<()>,
    ) -> String {
        let mut text = Vec::new();
        let mut documents = Documents::new(form, &mut text);
        write(&mut documents).unwrap();
        documents.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    fn written(form: Form) -> String {
        text_of(form, |documents| {
            documents.write(&[("a", 1)])?;
            documents.write(&[("b", 2)])
        })
    }

    #[test]
    fn several_json_documents_are_lines() {
        assert_eq!(written(Form::JsonLines), "[[\"a\",1]]\n[[\"b\",2]]\n");
    }

    #[test]
    fn a_list_is_written_item_by_item_as_it_is_at_once() {
        let items = [serde_json::json!({"a": [1, "b\nc"]}), serde_json::json!([{"d": {}}, []])];
        for form in [Form::Json, Form::Yaml] {
            for items in [&items[..], &[]] {
                let whole = text_of(form, |documents| documents.write(&items));
                assert_eq!(whole, text_of(form, |it| it.write_list(items)), "{form:?}");
            }
        }
    }

    #[test]
    fn objects_are_written_one_by_one_as_they_are_at_once() {
        #[derive(Serialize)]
        struct Object {
            metadata: Value,
            data: Value,
        }
        let items = [
            Object { metadata: json!({"name": "a"}), data: json!({"a": "b\nc", "d": {}}) },
            Object { metadata: json!({}), data: json!([]) },
        ];
        for form in [Form::Json, Form::Yaml] {
            for items in [&items[..], &[]] {
                let list = json!({
                    "apiVersion": "v1",
                    "items": items,
                    "kind": "List",
                    "metadata": {"resourceVersion": ""},
                });
                let whole = text_of(form, |documents| documents.write(&list));
                assert_eq!(whole, text_of(form, |it| it.write_objects(items)), "{form:?}");
            }
        }
    }

    #[test]
    fn an_object_is_written_before_the_next_one_is_serialized() {
        for form in [Form::Json, Form::Yaml] {
            let n_serialized = Cell::new(0);
            let mut counts = Counts(&n_serialized, Vec::new());
            let objects = [(); 3].map(|()| Object(&n_serialized));
            Documents::new(form, &mut counts).write_objects(&objects).unwrap();
            counts.1.dedup();
            assert_eq!(counts.1, [0, 1, 2, 3], "{form:?}");
        }
    }

    #[test]
    fn a_single_json_document_is_indented() {
        assert!(written(Form::Json).starts_with("[\n  [\n    \"a\",\n    1\n  ]\n]\n"));
    }

    #[test]
    fn yaml_documents_are_separated() {
        let text = written(Form::Yaml);
        assert_eq!(text.lines().filter(|line| *line == "---").count(), 1, "{text}");
    }
}
