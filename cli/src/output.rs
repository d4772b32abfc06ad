//! Writes data to standard output.

use std::io::{self, Write};

use serde::Serialize;
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
        rest.iter().try_for_each(|item| {
            yaml::write_to(&serde_json::to_value([item])?, &mut self.to)?;
            Ok(())
        })
    }

    /// Flushes the output.
    pub(crate) fn finish(mut self) -> io::Result<()> {
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
    use super::*;

    fn written(form: Form) -> String {
        let mut text = Vec::new();
        let mut documents = Documents::new(form, &mut text);
        documents.write(&[("a", 1)]).unwrap();
        documents.write(&[("b", 2)]).unwrap();
        documents.finish().unwrap();
        String::from_utf8(text).unwrap()
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
                let (mut whole, mut list) = (Vec::new(), Vec::new());
                Documents::new(form, &mut whole).write(&items).unwrap();
                Documents::new(form, &mut list).write_list(items).unwrap();
                assert_eq!(whole, list, "{form:?}");
            }
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
