//! `unlade load`.

use std::io::{self, Write};
use std::slice;

use unlade_format::{self as format, ConfigMap, text, yaml};
use unlade_loader::{self as loader, Manifest, Strictness};

use crate::{
    args::{Format, Load},
    error::{self, Error},
    exit::Exit,
    input::{self, Input, Origin},
    output::{self, Documents, Form},
    screen::Screen,
    summary,
};

pub(super) fn run(args: Load, screen: &Screen) -> Result<(), Error> {
    let Load { file, output, strict, max_input_size, limits } = args;
    let limits = format::Limits::from(limits);
    let reader = |size| yaml::Reader::new(&of_input(&limits.yaml, size));
    let (Input { config_maps, is_many, others }, reader) =
        input::read(&Origin::new(file)?, max_input_size.0, reader)?;
    error::warn(
        others.iter().map(|object| format!("{object} is no ConfigMap and left out")),
        screen,
    );
    let strictness = if strict { Strictness::Strict } else { Strictness::Upstream };
    let options = loader::Options { strictness, limits, ..loader::Options::default() };
    let mut writer = Writer::new(output, is_many, output::stdout(), screen);
    let all = config_maps.len();
    let mut failures = Failures::default();
    for config_map in config_maps {
        match load(&config_map, &options, &reader, screen) {
            Ok(manifest) => writer.write(&config_map, &manifest).map_err(Error::Output)?,
            // Whoever asked for one bundle gets its error.
            Err(error) if !is_many => return Err(error),
            // The others of a List may be fine.
            Err(error) => failures.add(&error, screen),
        }
    }
    writer.finish().map_err(Error::Output)?;
    failures.of(all)
}

/// The limits of YAML are those of one bundle; an input of `size` bytes may hold the ConfigMaps of
/// a cluster. Published bundles take up to 15 units of work for each byte of their ConfigMap.
fn of_input(limits: &yaml::Limits, size: usize) -> yaml::Limits {
    let mut limits = limits.clone();
    limits.input = limits.input.max(size);
    limits.tree = limits.tree.max(size.saturating_mul(2));
    limits.output = limits.output.max(size.saturating_mul(2));
    limits.total_output = limits.total_output.max(size.saturating_mul(2));
    limits.work = limits.work.max((size as u64).saturating_mul(20));
    limits
}

fn load(
    config_map: &ConfigMap,
    options: &loader::Options,
    reader: &yaml::Reader,
    screen: &Screen,
) -> Result<Manifest, Error> {
    loader::load_config_maps_within(slice::from_ref(config_map), options, reader)
        .map_err(|source| Error::load(name(config_map), source, screen))
}

fn name(config_map: &ConfigMap) -> String {
    let metadata = &config_map.metadata;
    match metadata.namespace.as_str() {
        "" => format!("ConfigMap {}", metadata.name),
        namespace => format!("ConfigMap {namespace}/{}", metadata.name),
    }
}

/// What went wrong with some of many.
#[derive(Debug, Default)]
struct Failures {
    number: usize,
    first: Option<Exit>,
}

impl Failures {
    fn add(&mut self, error: &Error, screen: &Screen) {
        // A List can hold one broken ConfigMap thousands of times; the last error counts them all.
        if self.number < text::FINDINGS {
            error::report(error, screen);
        }
        self.number += 1;
        self.first.get_or_insert(error.exit());
    }

    fn of(self, all: usize) -> Result<(), Error> {
        match self.first {
            Some(exit) => Err(Error::Partly { failed: self.number, all, exit }),
            None => Ok(()),
        }
    }
}

/// Writes bundles in the format that was asked for.
#[derive(Debug)]
enum Writer<'a, W> {
    Summaries { to: W, is_many: bool, n_written: usize, screen: &'a Screen },
    Documents(Documents<W>),
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(format: Format, is_many: bool, to: W, screen: &'a Screen) -> Self {
        let form = match format {
            Format::Summary => return Self::Summaries { to, is_many, n_written: 0, screen },
            Format::Yaml => Form::Yaml,
            Format::Json if is_many => Form::JsonLines,
            Format::Json => Form::Json,
        };
        Self::Documents(Documents::new(form, to))
    }

    fn write(&mut self, config_map: &ConfigMap, manifest: &Manifest) -> io::Result<()> {
        match self {
            Self::Summaries { to, is_many, n_written, screen } => {
                let gap = if *n_written > 0 { "\n\n" } else { "" };
                let heading = is_many.then(|| name(config_map));
                let text = summary::loaded(manifest, heading.as_deref(), screen);
                *n_written += 1;
                write!(to, "{gap}{text}")
            }
            Self::Documents(documents) => documents.write(manifest),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Summaries { mut to, .. } => to.flush(),
            Self::Documents(documents) => documents.finish(),
        }
    }
}
