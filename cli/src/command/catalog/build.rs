//! `unlade catalog build`.

mod cache;

use unlade_catalog_directory::{self as directory, Limits};
use unlade_oci::{
    Reference, Source, Transport,
    build::{self, catalog::Catalog},
    copy,
};

use crate::{args::Build, error::Error, output, screen::Screen, source};

/// The platform of an image without programs. It is the same on every machine, and a node of
/// another architecture pulls a single image, too.
const PLATFORM: &str = "linux/amd64";

/// Builds the image of a valid catalog.
pub(super) fn run(args: Build, screen: &Screen) -> Result<(), Error> {
    let Build { catalog: path, tag, from, cache_dir, extra_labels, images } = args;
    let destination = source::parse_destination(&tag)?;
    let (images, to_registry) = images.resolve_with_destination()?;
    let opened = source::open_catalog(path.as_os_str(), &images)?;
    let source::Images { platform, registry } = images;
    let limits = Limits::default();
    let reading = directory::read(&opened.path, &limits)?;
    super::accept(&reading.problems, &path, screen)?;
    if reading.catalog.packages.is_empty() {
        return Err(Error::Usage(format!("the catalog {} is empty", path.display())));
    }
    let mut catalog = Catalog {
        files: directory::files(&opened.path, &limits)?,
        cache: None,
        labels: extra_labels.into_iter().map(|it| (it.key, it.value)).collect(),
    };
    let stage = source::create_temporary()?;
    if let Some(directory) = cache_dir {
        let failed =
            |action, source| Error::File { action, path: directory.display().to_string(), source };
        catalog.cache = Some(cache::list(&directory).map_err(|error| failed("read", error))?);
        cache::correct_digest(&mut catalog, &opened.path, stage.path())
            .map_err(|error| failed("use the cache", error))?;
    }
    let layout = stage.path().join("image");
    let reference = Reference { transport: Transport::Oci, path: layout.clone(), select: None };
    let staged = Source::Image(reference.clone());
    let copy = |from: &Source, to: &Source, all| {
        let options = copy::Options::default().with_all(all).with_platform(platform.clone());
        unlade_registry::copy(from, to, &options, (&registry, &to_registry)).map_err(|source| {
            Error::Copy { image: from.to_string(), destination: to.to_string(), source }
        })
    };
    if let Some(base) = from {
        let base = source::open(base)?;
        copy(&base.source, &staged, platform.is_none())?;
        build::extend(&layout, &catalog.server_config(), &catalog.layers())
            .map_err(|source| Error::Extend { image: base.source.to_string(), source })?;
    } else {
        let platform = platform.clone().map_or_else(|| PLATFORM.parse(), Ok)?;
        build::write(&catalog.image(platform), &reference)?;
    }
    let copied = copy(&staged, &destination, true)?;
    output::print_lines([copied.digest.to_string()]).map_err(Error::Output)
}
