use std::collections::BTreeMap;

use super::*;
use crate::annotation::MANIFESTS;

/// A tree without links: the bytes of files by their path.
struct Memory(BTreeMap<String, Vec<u8>>);

impl Memory {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).into())).collect())
    }
}

impl Tree for Memory {
    type Dir = String;
    type File = Vec<u8>;
    type Error = Error;

    fn open(&self, path: &str) -> Result<Option<String>, Error> {
        let directory = format!("{path}/");
        Ok(self.0.keys().any(|path| path.starts_with(&directory)).then_some(directory))
    }

    fn list<E: From<Error>>(
        &self,
        directory: &String,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut names =
            self.0.keys().rev().filter_map(|path| path.strip_prefix(directory.as_str()));
        names.try_for_each(|name| visit(name.as_bytes()))
    }

    fn find(&self, directory: &String, name: &str) -> Result<Entry<Vec<u8>>, Error> {
        let path = format!("{directory}{name}");
        match self.0.get(&path) {
            Some(bytes) if bytes == b"<FIFO>" => Ok(Entry::Special("FIFO")),
            Some(bytes) => Ok(Entry::File(bytes.clone())),
            None => Err(Error::Missing { path }),
        }
    }

    fn read(
        &self,
        _: &String,
        _: &str,
        bytes: Vec<u8>,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Error> {
        Ok((bytes.len() <= max).then(|| Rc::new(bytes)))
    }
}

fn annotations(manifests: &str) -> String {
    format!("annotations: {{{MANIFESTS}: {manifests}}}\n")
}

fn paths(files: &[File]) -> Vec<String> {
    files.iter().map(File::path).collect()
}

#[test]
fn each_reader_takes_its_files() {
    let annotations = annotations("deploy");
    let tree = || {
        Memory::new(&[
            ("deploy/b.yaml", ""),
            ("deploy/a.yaml", ""),
            ("manifests/other.yaml", ""),
            ("metadata/annotations.yaml", &annotations),
            ("metadata/dependencies.yaml", ""),
        ])
    };
    let (files, layout) = read_files(tree(), &Limits::default()).unwrap();
    let expected = [
        "metadata/annotations.yaml",
        "metadata/dependencies.yaml",
        "manifests/a.yaml",
        "manifests/b.yaml",
    ];
    assert_eq!(
        (paths(&files), layout.manifests.as_str()),
        (expected.map(Into::into).into(), "deploy")
    );

    let (files, _) = read_as_copier(tree(), &Limits::default()).unwrap();
    assert_eq!(
        paths(&files),
        ["metadata/annotations.yaml", "manifests/a.yaml", "manifests/b.yaml"]
    );

    let files = read_as_writer(tree(), &Limits::default()).unwrap();
    let expected =
        ["manifests/other.yaml", "metadata/annotations.yaml", "metadata/dependencies.yaml"];
    assert_eq!(paths(&files), expected);
}

#[test]
fn the_limits_are_those_of_both_directories_together() {
    let tree = || Memory::new(&[("manifests/a", "12345"), ("metadata/b", "12345")]);
    let read = |files, file_size, total_size| {
        let limits = Limits { files, file_size, total_size, ..Limits::default() };
        read(tree(), &limits).map(drop).map_err(|error| {
            assert!(error.is_limit(), "{error:?}");
            error.to_string()
        })
    };
    assert_eq!(read(2, 5, 10), Ok(()));
    let refusal = |text: &str| Err(text.to_owned());
    assert_eq!(read(1, 5, 10), refusal("manifests: the bundle has more than 1 files"));
    assert_eq!(read(2, 4, 10), refusal("metadata/b is larger than 4 bytes"));
    let text = "manifests/a: the files of the bundle are larger than 9 bytes in total";
    assert_eq!(read(2, 5, 9), refusal(text));
}

#[test]
fn entries_that_are_not_files_are_named() {
    let tree = Memory::new(&[("manifests/a", "<FIFO>"), ("metadata/b", "")]);
    let error = read(tree, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "manifests/a is a FIFO, not a regular file");
}
