//! [`File`]: what one file of a catalog contains.

use std::{collections::HashSet, io::Read, sync::Arc};

use unlade_bundle::typed::field;
use unlade_yaml::{self as yaml, Documents, Reader, StreamError, json::Value};

use crate::{
    BUNDLE, CHANNEL, DEPRECATIONS, Limits, Meta, MetaError, PACKAGE,
    check::bundle,
    meta::items,
    problem::{Place, Problem, Problems},
    reader::FileReader,
    record::{Bundle, Channel, Deprecations, Package},
    rule::Rule,
    shape::{self, Shape, format_path},
};

/// The maximum number of entries of one meta that have no name, or the name of an earlier entry,
/// which are errors. Such an entry needs two or three bytes of the file, as `0` or an alias, but as
/// much memory as any other.
const MAX_AMBIGUOUS: usize = 10;

/// The maximum number of entries of one meta. An entry needs about 150 bytes of memory, but can
/// have as few as 13 bytes in the file. The channels of public catalogs have a few hundred entries.
const MAX_ENTRIES: usize = 100_000;

/// What one file of a catalog contains.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub(crate) packages: Vec<Package>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) deprecations: Vec<Deprecations>,
    pub(crate) n_metas: usize,
    pub(crate) problems: Problems,
    /// Whether the file has documents that are not in the lists above.
    pub(crate) is_incomplete: bool,
    /// The memory of the lists above, in bytes.
    memory: usize,
}

impl File {
    /// Reads a file. `path` is its path relative to the catalog, for messages. Only one document at
    /// a time is in memory. The limits apply to this file alone; use a [`FileReader`] for the files
    /// of a catalog.
    pub fn read(path: impl Into<Arc<str>>, input: impl Read, limits: &Limits) -> Self {
        FileReader::new(limits).read(path, input)
    }

    /// Reads a file as [`read`](Self::read) does, and calls `visit` with each meta that upstream
    /// can load, in the order of the file. The result has only problems, so the memory does not
    /// depend on the number of metas. If the file has an error, `visit` has not seen all metas, so
    /// look for errors of rules that [prevent loading](Rule::prevents_loading) before you use the
    /// result ([`Catalog::loading_problems`](crate::Catalog::loading_problems)).
    ///
    /// ```
    /// use unlade_catalog::{File, Limits};
    ///
    /// let text = "schema: example.com/a\nname: b\n---\nschema: olm.package\nname: tea\n";
    /// let mut metas = Vec::new();
    /// let visit = |meta, _: &_| metas.push(meta);
    /// File::read_each("catalog.yaml", text.as_bytes(), &Limits::default(), visit);
    /// assert_eq!(metas[0].to_json(), r#"{"name":"b","schema":"example.com/a"}"#);
    /// let json = r#"{"schema":"olm.package","name":"tea","defaultChannel":""}"#;
    /// assert_eq!(metas[1].to_json(), json);
    /// ```
    pub fn read_each(
        path: impl Into<Arc<str>>,
        input: impl Read,
        limits: &Limits,
        visit: impl FnMut(Meta, &Place),
    ) -> Self {
        FileReader::new(limits).read_each(path, input, visit)
    }

    /// Reads a file, calls `visit` with each meta that upstream can load, and keeps records if
    /// `keep` is set.
    pub(crate) fn walk(
        path: &Arc<str>,
        input: impl Read,
        file_reader: &FileReader<'_>,
        keep: bool,
        mut visit: impl FnMut(Meta, &Place),
    ) -> Self {
        let (mut file, limits) = (Self::default(), file_reader.limits());
        let reader = Reader::new(&limits.document);
        let mut documents = Documents::new(input, &reader);
        loop {
            let part = match documents.next() {
                Ok(Some(part)) => part,
                Ok(None) => return file,
                Err(error) => {
                    file.fail(stream_problem(path, &error));
                    return file;
                }
            };
            let place = Place::document(path, part.line);
            file.n_metas += 1;
            if file.n_metas > limits.metas {
                let message = format!("the file has more than {} documents", limits.metas);
                file.fail(Problem::new(Rule::Limit, place, message));
                return file;
            }
            match part.document {
                Err(error) => file.fail(syntax_problem(place, &error)),
                Ok(document) => {
                    if let Some(unread) = document.unread {
                        let mut place = place.clone();
                        place.line += unread.line - 1;
                        let message = "only the first node of a YAML document is read, so this \
                                       text and everything up to the next --- is dropped";
                        file.problems.push(Problem::new(Rule::LostDocument, place, message));
                    }
                    match Meta::from_tree(document.tree) {
                        Err(error) => file.fail(meta_problem(place, &error)),
                        Ok(meta) => {
                            let before = file.memory;
                            let is_loadable = file.add(&meta, &place, &reader, keep);
                            let record_memory = file.memory - before;
                            if !file_reader.count_meta(&meta, record_memory) {
                                let message = format!(
                                    "the names, images and entries of the catalog need more than \
                                     {} bytes of memory",
                                    limits.records
                                );
                                file.fail(Problem::new(Rule::Limit, place, message));
                                return file;
                            }
                            if is_loadable {
                                visit(meta, &place);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns a file that could not be read, for the reason in `message`.
    pub fn unreadable(path: &str, message: impl Into<String>) -> Self {
        let mut file = Self::default();
        file.fail(Problem::new(Rule::Unreadable, Place::file(path), message));
        file
    }

    fn fail(&mut self, problem: Problem) {
        self.is_incomplete = true;
        self.problems.push(problem);
    }

    /// Checks a meta, and keeps its record if `keep` is set. Returns whether upstream can load it
    /// and its list of entries is within the limit.
    fn add(&mut self, meta: &Meta, place: &Place, reader: &Reader, keep: bool) -> bool {
        let value = meta.value();
        let Some(shape) = shape::meta(&meta.schema) else { return true };
        let mut is_loadable = self.compare(value, shape, place, meta);
        let has_entries = [CHANNEL, DEPRECATIONS].contains(&meta.schema.as_str());
        if has_entries && items(value, "entries").nth(MAX_ENTRIES).is_some() {
            let message = format!("the list has more than {MAX_ENTRIES} entries");
            let problem = Problem::new(Rule::Limit, place.item("entries", MAX_ENTRIES), message);
            self.fail(name_subject(problem, meta));
            return false;
        }
        match meta.schema.as_str() {
            BUNDLE => {
                let (bundle, problems) = bundle::read(value, place.clone(), reader);
                if is_loadable {
                    let mut rules = problems.as_slice().iter().map(|problem| problem.rule);
                    is_loadable = !rules.any(Rule::prevents_loading);
                    self.problems.append(problems);
                }
                if keep {
                    self.memory += bundle.memory();
                    self.bundles.push(bundle);
                }
            }
            _ if !keep => {}
            PACKAGE => {
                let package = Package::new(value, place.clone());
                self.memory += package.memory();
                self.packages.push(package);
            }
            CHANNEL => {
                let name = |entry| (str_of(Some(entry), "name"), "");
                let n_entries = self.limit_entries(meta, place, Rule::BundleName, name);
                let channel = Channel::new(value, place.clone(), n_entries);
                self.memory += channel.memory();
                self.channels.push(channel);
            }
            DEPRECATIONS => {
                let name = |entry| {
                    let reference = field(entry, "reference");
                    (str_of(reference, "schema"), str_of(reference, "name"))
                };
                let n_entries = self.limit_entries(meta, place, Rule::DeprecationReference, name);
                let deprecations = Deprecations::new(value, place.clone(), n_entries);
                self.memory += deprecations.memory();
                self.deprecations.push(deprecations);
            }
            _ => {}
        }
        is_loadable
    }

    /// Returns how many entries of a meta are kept: those before the one that exceeds
    /// [`MAX_AMBIGUOUS`], which is an error. The first part of the name of an entry is required.
    fn limit_entries<'m>(
        &mut self,
        meta: &'m Meta,
        place: &Place,
        rule: Rule,
        name: impl Fn(Value<'m>) -> (&'m str, &'m str),
    ) -> usize {
        let mut names = HashSet::new();
        let mut ambiguous = items(meta.value(), "entries")
            .map(name)
            .enumerate()
            .filter(|(_, name)| name.0.is_empty() || !names.insert(*name));
        let Some((index, _)) = ambiguous.nth(MAX_AMBIGUOUS) else { return usize::MAX };
        let message = format!(
            "more than {MAX_AMBIGUOUS} entries have no name or reference, or that of an earlier \
             entry, so this entry and the entries after it are not checked"
        );
        let problem = Problem::new(rule, place.item("entries", index), message);
        self.fail(name_subject(problem, meta));
        index
    }

    /// Reports what upstream refuses or ignores in a meta. Returns whether the types are right.
    fn compare(&mut self, value: Value<'_>, shape: &Shape, place: &Place, meta: &Meta) -> bool {
        let found = shape::compare(value, shape, &[]);
        let is_right = found.misfits.is_empty();
        let problem = |rule, (path, text): (Vec<_>, String)| {
            let message = format!("{} {text}", format_path(&path));
            name_subject(Problem::new(rule, Place { path, ..place.clone() }, message), meta)
        };
        self.problems.extend(found.misfits.into_iter().map(|it| problem(Rule::FieldType, it)));
        self.problems.extend(found.unknown.into_iter().map(|it| problem(Rule::UnknownField, it)));
        is_right
    }
}

/// Sets what a problem of a meta is about.
fn name_subject(problem: Problem, meta: &Meta) -> Problem {
    match meta.schema.as_str() {
        PACKAGE => problem.package(&meta.name),
        CHANNEL => problem.package(&meta.package).channel(&meta.name),
        BUNDLE => problem.package(&meta.package).bundle(&meta.name),
        _ => problem.package(&meta.package),
    }
}

/// Returns the text of the field `name`. Empty if it is absent or not text.
fn str_of<'v>(value: Option<Value<'v>>, name: &str) -> &'v str {
    value.and_then(|value| field(value, name)?.as_str()).unwrap_or_default()
}

fn stream_problem(path: &Arc<str>, error: &StreamError) -> Problem {
    let message = unlade_text::chain(error);
    match error {
        StreamError::TooLarge { line, .. } => {
            Problem::new(Rule::Limit, Place::document(path, *line), message)
        }
        _ => Problem::new(Rule::Unreadable, Place::file(Arc::clone(path)), message),
    }
}

fn syntax_problem(mut place: Place, error: &yaml::Error) -> Problem {
    let message = error.to_string();
    let message = match error.line() {
        Some(line) => {
            place.line = line;
            message.strip_prefix(&format!("line {line}: ")).unwrap_or(&message).to_owned()
        }
        None => message,
    };
    let rule = if error.is_limit() { Rule::Limit } else { Rule::Syntax };
    Problem::new(rule, place, message)
}

fn meta_problem(place: Place, error: &MetaError) -> Problem {
    let place = match error {
        MetaError::NotText { key } => place.field(key),
        MetaError::DuplicateKey { second, .. } => place.field(second),
        _ => place,
    };
    Problem::new(Rule::NotAMeta, place, error.to_string())
}
