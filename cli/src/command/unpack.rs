//! `unlade unpack`.

use std::path::{Path, PathBuf};

use unlade_bundle::Reading;
use unlade_config_map::{
    Encoding,
    encode::{self, encode, unread_manifests},
};
use unlade_loader::{self as loader, Loaded, Strictness};
use unlade_oci::{self as oci, Source};
use unlade_registry::ImageReader;

use crate::{
    args::{Format, Unpack},
    error::Error,
    object_name,
    output::{self, Documents, Form},
    progress::Transfers,
    screen::Screen,
    source::{self, Images},
    stderr,
    summary::{self, Unpacked},
};

pub(super) fn run(args: Unpack, screen: &Screen) -> Result<(), Error> {
    let Unpack {
        source,
        output,
        encoding,
        name,
        namespace,
        platform,
        source_image,
        strict,
        quiet,
        registry,
        limits,
    } = args;
    let limits = unlade_bundle::Limits::from(limits);
    let opened = source::open(source)?;
    let source = &opened.source;
    let platform = platform.as_deref().map(str::parse).transpose()?;
    let mut images = Images { platform, registry: registry.options()? };
    let transfers = Transfers::start(screen, quiet);
    images.registry.progress = transfers.progress();
    let result =
        opened.image(&images).map_err(Error::from).and_then(|image| read(&image, &limits, &images));
    drop(transfers);
    let (reading, image_digest) = result?;
    // The bundle is loaded too, to report what the loader would drop before the ConfigMap is on a
    // cluster, and to name the ConfigMap after the CSV.
    let strictness = if strict { Strictness::Strict } else { Strictness::Upstream };
    let options = loader::Options::default()
        .with_strictness(strictness)
        .with_limits(limits)
        .with_source_image(source_image.clone());
    let mut loaded = loader::load(&reading, &options)
        .map_err(|error| Error::load(source.to_string(), error, screen))?;
    let Reading { content, findings } = reading;
    let options = encode::Options::default()
        .with_name(name.unwrap_or_else(|| default_name(&loaded, source)))
        .with_namespace(namespace.unwrap_or_default())
        .with_encoding(encoding.into())
        .with_source_image(source_image)
        .with_findings(findings);
    let config_maps = encode(&content, &options)?;
    let encodings = config_maps.iter().map(Encoding::of);
    let unread: Vec<_> =
        encodings.flat_map(|encoding| unread_manifests(&content, encoding)).collect();
    if strict && !unread.is_empty() {
        return Err(Error::load(source.to_string(), loader::Error::Lossy(unread), screen));
    }
    loaded.report.extend(unread);
    let form = match output.unwrap_or_else(|| default_format(screen)) {
        Format::Yaml => Form::Yaml,
        Format::Json => Form::Json,
        Format::Summary => {
            let bundle = &loaded.bundle;
            let text = summary::format_unpacked(
                &Unpacked {
                    content: &content,
                    config_maps: &config_maps,
                    bundle,
                    image_digest: image_digest.as_deref(),
                    findings: &loaded.report,
                },
                screen,
            );
            return output::print(text.as_bytes()).map_err(Error::Output);
        }
    };
    stderr::warn_findings(&loaded.report, screen);
    // The largest bundles have several megabytes, which are no longer needed.
    drop((content, loaded));
    let mut documents = Documents::new(form, output::stdout());
    config_maps
        .iter()
        .try_for_each(|config_map| documents.write(config_map))
        .and_then(|()| documents.finish())
        .map_err(Error::Output)
}

/// Returns the format for users on a terminal, and for programs elsewhere.
fn default_format(screen: &Screen) -> Format {
    if screen.is_terminal { Format::Summary } else { Format::Yaml }
}

/// Reads a bundle. For an image, also returns its digest.
pub(super) fn read(
    image: &ImageReader,
    limits: &unlade_bundle::Limits,
    images: &Images,
) -> Result<(Reading, Option<String>), Error> {
    match image.source() {
        Source::Path(path) if is_bundle_directory(path) => unlade_directory::read(path, limits)
            .map(|reading| (reading, None))
            .map_err(|source| Error::Directory { path: path.display().to_string(), source }),
        source => {
            let platform = images.platform.clone();
            let mut options = oci::Options::default().with_platform(platform);
            options.limits.content = limits.clone();
            match image.read(&options) {
                Ok(image) => {
                    let digest = image.digest.map(|digest| digest.to_string());
                    Ok((image.reading, digest))
                }
                Err(oci::Error::Unrecognized { path, has_bundle: true }) => {
                    let reading = oci::read_tar(&path, &options);
                    let failed =
                        |source| source::Error::Image { name: path.display().to_string(), source };
                    Ok((reading.map_err(failed)?, None))
                }
                Err(error) => {
                    Err(source::Error::Image { name: source.to_string(), source: error }.into())
                }
            }
        }
    }
}

/// Checks whether `path` is a directory that does not contain an image. For a directory that is
/// neither, the reader of bundle directories reports what is missing.
fn is_bundle_directory(path: &Path) -> bool {
    path.is_dir() && (path.join("manifests").exists() || !oci::dir::is_image(path))
}

/// Returns the default name of the ConfigMap: that of the CSV, which differs between the versions
/// of a package and is usually valid as it is.
fn default_name(loaded: &Loaded, source: &Source) -> String {
    let path = match source {
        Source::Path(path) => path.clone(),
        Source::Image(reference) => reference.path.clone(),
        Source::Remote(image) => PathBuf::from(image.repository()),
        _ => PathBuf::new(),
    };
    // `.` and `..` have no file name of their own.
    let path = path.canonicalize().unwrap_or(path);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    [
        Some(loaded.bundle.csv_name.as_str()),
        Some(loaded.bundle.package_name.as_str()),
        stem.as_deref(),
    ]
    .into_iter()
    .flatten()
    .find_map(object_name::from_text)
    .unwrap_or_else(|| "bundle".to_owned())
}
