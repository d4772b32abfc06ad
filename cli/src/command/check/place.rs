//! `unlade check --registry`: where this machine reads an image from.

use std::fmt::Write as _;

use serde_json::{Value, json};
use unlade_name::ImageReference;
use unlade_registry::{Explanation, Options, explain};
use unlade_text as text;

use crate::{args::CheckOutput, error::Error, output, remedy, screen::Screen, source};

pub(super) fn run(
    image: &str,
    output: CheckOutput,
    registry: &Options,
    screen: &Screen,
) -> Result<(), Error> {
    let image =
        ImageReference::parse(image).map_err(|error| source::Error::Notation(error.into()))?;
    let found = explain(&image, registry);
    let places = found.map_err(|source| Error::Registry { image: image.to_string(), source })?;
    let failed = places.iter().filter(|place| place.result.is_err()).count();
    let success = failed < places.len();
    match output {
        CheckOutput::Summary => output::print(format(&places, success, screen).as_bytes()),
        CheckOutput::Json => {
            let places: Vec<_> = places.iter().map(describe).collect();
            output::print_json(&json!({"success": success, "endpoints": places}))
        }
    }
    .map_err(Error::Output)?;
    if success { Ok(()) } else { Err(Error::Checks { failed, all: places.len() }) }
}

/// Formats the places in the order in which they are asked.
fn format(places: &[Explanation], success: bool, screen: &Screen) -> String {
    let (mut report, palette) = (String::new(), &screen.out);
    for place in places {
        let image = &place.endpoint.image;
        let (style, mark, line, hint) = match &place.result {
            Ok(digest) => (palette.good, '√', format!("{image} has the digest {digest}"), None),
            Err(error) => {
                let line = format!("{image}: {}", text::chain(error));
                // Another place has the image.
                let (style, mark) =
                    if success { (palette.warning, '‼') } else { (palette.error, '×') };
                let hint = remedy::advice(error.hint().as_deref(), error.remedy().as_slice());
                (style, mark, line, hint)
            }
        };
        _ = writeln!(report, "{style}{mark}{style:#} {}", text::line(&line));
        let style = palette.dim;
        for line in details(place).into_iter().chain(hint) {
            _ = writeln!(report, "    {style}{}{style:#}", text::line(&line));
        }
    }
    report
}

/// Describes which rules, certificates and credentials apply to an endpoint.
fn details(place: &Explanation) -> Vec<String> {
    let endpoint = &place.endpoint;
    let kind = if endpoint.is_mirror { "a mirror" } else { "the registry itself" };
    let rule = match &endpoint.file {
        Some(file) => format!("{kind}, according to a rule in {}", file.display()),
        None => format!("{kind}; no rule of registries.conf applies"),
    };
    let tls = match (place.plain_http, endpoint.insecure) {
        (true, _) => Some("connected without TLS".to_owned()),
        (false, true) => Some("certificates are not verified, and TLS is optional".to_owned()),
        (false, false) => None,
    };
    let certificates = place.certificates.as_ref();
    let certificates = certificates.map(|path| format!("certificates in {}", path.display()));
    let credentials = match &place.credentials {
        Some(origin) => format!("credentials from {origin}, if the registry requires them"),
        None => "no credentials".to_owned(),
    };
    [Some(rule), tls, certificates, Some(credentials)].into_iter().flatten().collect()
}

fn describe(place: &Explanation) -> Value {
    let path = |path: &std::path::Path| path.display().to_string();
    json!({
        "image": place.endpoint.image.as_str(),
        "isMirror": place.endpoint.is_mirror,
        "insecure": place.endpoint.insecure || place.plain_http,
        "rule": place.endpoint.file.as_deref().map(path),
        "certificates": place.certificates.as_deref().map(path),
        "credentials": place.credentials,
        "digest": place.result.as_ref().ok().map(ToString::to_string),
        "error": place.result.as_ref().err().map(|error| text::chain(error)),
    })
}
