//! `unlade copy`.

use unlade_oci::{Source, copy};

use crate::{args::Copy, error::Error, output, progress::Transfers, screen::Screen, source};

pub(super) fn run(args: Copy, screen: &Screen) -> Result<(), Error> {
    let (mut from, mut to) = args.connections()?;
    let platform = args.platform.as_deref().map(str::parse).transpose()?;
    let options = copy::Options::default().with_all(args.all).with_platform(platform);
    let destination = source::parse_destination(&args.destination)?;
    let opened = source::open(args.source)?;
    let source = &opened.source;
    if from.plain_http && matches!((source, &destination), (Source::Remote(_), Source::Remote(_))) {
        let text = "--plain-http applies to both registries: use --src-tls-verify=false or --dest-tls-verify=false for a registry without TLS";
        return Err(Error::Usage(text.to_owned()));
    }
    let transfers = Transfers::start(screen, args.quiet);
    // Between two registries, a blob arrives as fast as it is read.
    let side = if matches!(destination, Source::Remote(_)) { &mut to } else { &mut from };
    side.progress = transfers.progress();
    let copied = unlade_registry::copy(source, &destination, &options, (&from, &to));
    drop(transfers);
    let copied = copied.map_err(|error| Error::Copy {
        image: source.to_string(),
        destination: destination.to_string(),
        source: error,
    })?;
    output::print_lines([copied.digest.to_string()]).map_err(Error::Output)
}
