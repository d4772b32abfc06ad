//! Reads files and standard input, and the ConfigMaps in them that kubectl, `unlade unpack`, OLM or
//! a user wrote: one or many, as YAML or JSON.

mod document;

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use unlade_config_map::ConfigMap;
use unlade_directory::read_at_most;
use unlade_oci::tar_reader::is_archive;
use unlade_yaml::{self as yaml, json};

/// The default of the maximum size of the input, in bytes. A ConfigMap has up to 1 MiB of values,
/// or 1.4 MiB in base64, so this is enough for all ConfigMaps of a large cluster.
pub(crate) const DEFAULT_MAX_SIZE: usize = 256 << 20;

/// The maximum size of the parsed values of all documents of an input that contain ConfigMaps, in
/// bytes, unless four times the size of the input is larger. All ConfigMaps are in memory at the
/// same time. A hostile document can need a hundred times its size in memory, but a ConfigMap needs
/// little more than its text.
const MAX_MEMORY: usize = 96 << 20;

/// The maximum nesting of a document, which is that of serde_json. A ConfigMap has three levels.
const MAX_DEPTH: usize = 127;

/// A file, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Standard input.
    Standard,
    /// A file.
    File(PathBuf),
}

/// The objects of an input.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Input {
    /// The ConfigMaps in their order.
    pub(crate) config_maps: Vec<ConfigMap>,
    /// Whether the input is a List or several documents, even if it holds only one ConfigMap.
    pub(crate) is_many: bool,
    /// The other objects.
    pub(crate) others: Vec<Other>,
}

/// A value that is not a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) kind: OtherKind,
    /// The name of the object. Empty if it has none.
    name: String,
}

/// The kind of a value that is not a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OtherKind {
    /// An object of Kubernetes, with its kind.
    Object(String),
    /// An entry of a file-based catalog.
    CatalogEntry,
    /// An object without a kind.
    Unknown,
    List,
    Scalar,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            OtherKind::Object(kind) => kind,
            OtherKind::CatalogEntry => "an entry of a file-based catalog",
            OtherKind::Unknown => "an object without a kind",
            OtherKind::List => "a list",
            OtherKind::Scalar => "a scalar",
        })?;
        match self.name.as_str() {
            "" => Ok(()),
            name => write!(f, "/{name}"),
        }
    }
}

/// Why no ConfigMaps were read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// No file was passed, and standard input is a terminal.
    #[error("FILE is required if standard input is a terminal")]
    Terminal,
    /// The file or the pipe failed.
    #[error("failed to read {origin}")]
    Read {
        origin: String,
        #[source]
        source: io::Error,
    },
    /// The input is larger than the limit.
    #[error("{origin} is larger than {limit} bytes")]
    TooLarge { origin: String, limit: usize },
    /// The values of the documents would need too much memory.
    #[error("the values of {origin} need more than {limit} bytes of memory (in document {number})")]
    Memory { origin: String, number: usize, limit: usize },
    /// A document is neither YAML nor JSON.
    #[error("document {number} of {origin} is not YAML")]
    Yaml {
        origin: String,
        number: usize,
        #[source]
        source: yaml::Error,
    },
    /// A document looks like JSON but is not.
    #[error("document {number} of {origin} is not JSON")]
    Json {
        origin: String,
        number: usize,
        #[source]
        source: serde_json::Error,
    },
    /// The values of a document are nested too deeply.
    #[error("document {number} of {origin} is nested more than {MAX_DEPTH} levels deep")]
    TooDeep { origin: String, number: usize },
    /// A field of a ConfigMap has a wrong type.
    #[error("{object} of {origin} is not a valid ConfigMap: {field}")]
    ConfigMap {
        origin: String,
        object: String,
        field: String,
        #[source]
        source: serde_json::Error,
    },
    /// The input is a tar archive or compressed data, perhaps an image.
    #[error("{origin} is an archive or compressed data, not YAML or JSON")]
    Archive { origin: String },
    /// The input contains no ConfigMap.
    #[error("{origin} contains no ConfigMap{}", describe_others(.others))]
    Missing { origin: String, others: Vec<Other> },
}

impl Origin {
    /// Returns the origin that `file` names. The default is standard input.
    ///
    /// # Errors
    ///
    /// Fails if `file` is `None` and standard input is a terminal.
    pub(crate) fn new(file: Option<PathBuf>) -> Result<Self, Error> {
        match file {
            None if io::stdin().is_terminal() => Err(Error::Terminal),
            None => Ok(Self::Standard),
            Some(path) if path == Path::new("-") => Ok(Self::Standard),
            Some(path) => Ok(Self::File(path)),
        }
    }

    /// Returns the name of the origin for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Opens the origin as a stream.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened.
    pub(crate) fn open(&self) -> Result<Box<dyn Read>, Error> {
        match self {
            Self::Standard => Ok(Box::new(io::stdin().lock())),
            Self::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(source) => Err(Error::Read { origin: self.name(), source }),
            },
        }
    }

    /// Reads the whole origin.
    ///
    /// # Errors
    ///
    /// Fails if the origin cannot be read or is larger than `limit` bytes.
    pub(crate) fn read(&self, limit: usize) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Read { origin: self.name(), source };
        let bytes = read_at_most(self.open()?, limit as u64).map_err(failed)?;
        bytes.ok_or_else(|| Error::TooLarge { origin: self.name(), limit })
    }
}

/// Reads the ConfigMaps of `origin` with the YAML reader that `reader` creates for an input of the
/// given size. Returns the reader too, because its limits apply to all that is read from the input.
///
/// # Errors
///
/// Fails if `origin` cannot be read, is larger than `limit` bytes, is not YAML or JSON, contains no
/// ConfigMap, or exceeds a limit of the YAML reader.
pub(crate) fn read(
    origin: &Origin,
    limit: usize,
    reader: impl FnOnce(usize) -> yaml::Reader,
) -> Result<(Input, yaml::Reader), Error> {
    let bytes = origin.read(limit)?;
    let reader = reader(bytes.len());
    Ok((parse(&bytes, &origin.name(), &reader)?, reader))
}

fn parse(bytes: &[u8], origin: &str, reader: &yaml::Reader) -> Result<Input, Error> {
    // Editors on Windows write a byte order mark, which JSON does not allow.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_archive(bytes) {
        return Err(Error::Archive { origin: origin.to_owned() });
    }
    let mut input = Input::default();
    let mut n_documents = 0;
    let limit = MAX_MEMORY.max(4 * bytes.len());
    let mut memory = Memory { limit, used: 0 };
    for text in document::split(bytes) {
        let (used, n_kept) = (memory.used, input.config_maps.len());
        for value in values(text, origin, n_documents + 1, reader, &mut memory)? {
            if !value.is_null() {
                n_documents += 1;
                collect_objects(value, origin, &mut input)?;
            }
        }
        // Other objects are not kept.
        if input.config_maps.len() == n_kept {
            memory.used = used;
        }
    }
    if input.config_maps.is_empty() {
        return Err(Error::Missing { origin: origin.to_owned(), others: input.others });
    }
    input.is_many |= n_documents > 1;
    Ok(input)
}

/// The memory for the values of an input, in bytes.
struct Memory {
    limit: usize,
    used: usize,
}

/// Parses the values of a document: one, or several if the document is a sequence of JSON texts, as
/// `jq` writes them.
fn values(
    text: &[u8],
    origin: &str,
    number: usize,
    reader: &yaml::Reader,
    memory: &mut Memory,
) -> Result<Vec<Value>, Error> {
    let limit = memory.limit;
    let total = |json: &[u8]| {
        let total = memory.used.saturating_add(json::value_memory(json));
        let exceeded = || Error::Memory { origin: origin.to_owned(), number, limit };
        (total <= limit).then_some(total).ok_or_else(exceeded)
    };
    let looks_like_json = text.trim_ascii_start().starts_with(b"{");
    let json_error = if looks_like_json {
        let used = total(text)?;
        let stream = serde_json::Deserializer::from_slice(text).into_iter();
        match stream.collect() {
            Ok(values) => {
                memory.used = used;
                return Ok(values);
            }
            Err(error) => Some(error),
        }
    } else {
        None
    };
    match (reader.to_json(text), json_error) {
        (Ok(text), _) => {
            memory.used = total(text.as_bytes())?;
            // The reader has written valid JSON.
            let too_deep = |_| Error::TooDeep { origin: origin.to_owned(), number };
            Ok(vec![serde_json::from_str(&text).map_err(too_deep)?])
        }
        // The text is neither. It looks like JSON, so the error of the JSON parser is more useful.
        (Err(source), Some(error)) if !source.is_limit() => {
            Err(Error::Json { origin: origin.to_owned(), number, source: error })
        }
        (Err(source), _) => Err(Error::Yaml { origin: origin.to_owned(), number, source }),
    }
}

/// Adds an object, or the items of a List, to `input`.
fn collect_objects(value: Value, origin: &str, input: &mut Input) -> Result<(), Error> {
    let mut waiting = vec![value];
    while let Some(mut value) = waiting.pop() {
        let kind = text(&value, "/kind").to_owned();
        if kind.ends_with("List")
            && let Some(Value::Array(items)) = value.get_mut("items").map(Value::take)
        {
            input.is_many = true;
            let is_typed = kind == "ConfigMapList";
            waiting.extend(items.into_iter().rev().map(|mut item| {
                // The API server omits the kind from the items of a typed list.
                if is_typed
                    && item.get("kind").is_none()
                    && let Value::Object(fields) = &mut item
                {
                    fields.insert("kind".to_owned(), "ConfigMap".into());
                    fields.insert("apiVersion".to_owned(), "v1".into());
                }
                item
            }));
        } else if kind == "ConfigMap" && text(&value, "/apiVersion") == "v1" {
            let object = format!("ConfigMap/{}", text(&value, "/metadata/name"));
            let config_map = serde_path_to_error::deserialize(value).map_err(|error| {
                let field = error.path().to_string();
                let source = error.into_inner();
                Error::ConfigMap { origin: origin.to_owned(), object, field, source }
            })?;
            input.config_maps.push(config_map);
        } else {
            let name = text(&value, "/metadata/name").to_owned();
            let is_catalog_entry = text(&value, "/schema").starts_with("olm.");
            let kind = match &value {
                Value::Object(_) if is_catalog_entry => OtherKind::CatalogEntry,
                Value::Object(_) if kind.is_empty() => OtherKind::Unknown,
                Value::Object(_) => OtherKind::Object(kind),
                Value::Array(_) => OtherKind::List,
                _ => OtherKind::Scalar,
            };
            input.others.push(Other { kind, name });
        }
    }
    Ok(())
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Describes the objects of an input that contains no ConfigMap.
fn describe_others(others: &[Other]) -> String {
    match others {
        [] => String::new(),
        [one] => format!(", only {one}"),
        [first, rest @ ..] => format!(", only {first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests;
