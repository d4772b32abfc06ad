//! `unlade catalog init`.

use serde_json::{Map, json};
use unlade_catalog::{Form, Meta};
use unlade_yaml::base64;

use super::render;
use crate::{args::Init, error::Error, input::Origin, screen::Screen, stderr};

/// The maximum size of an icon and of a description, in bytes. Clients of OLM refuse larger
/// messages.
const MAX_SIZE: usize = 4 << 20;

/// The type of an SVG, which has no magic number.
const SVG: &str = "image/svg+xml";

/// Writes the meta of a package.
pub(super) fn run(args: &Init, screen: &Screen) -> Result<(), Error> {
    let Init { package, default_channel, description, icon, output } = args;
    if let Err(error) = unlade_name::check_label(package, unlade_name::MAX_LABEL) {
        stderr::warn([format!("the package name {package} is invalid: {error}")], screen);
    }
    let mut meta = Map::from_iter([
        ("schema".to_owned(), json!(unlade_catalog::PACKAGE)),
        ("name".to_owned(), json!(package)),
        ("defaultChannel".to_owned(), json!(default_channel)),
    ]);
    if let Some(path) = description {
        let text = String::from_utf8(Origin::new(Some(path.clone()))?.read(MAX_SIZE)?)
            .map_err(|_| Error::Usage(format!("{} is not UTF-8", path.display())))?;
        meta.insert("description".to_owned(), json!(text));
    }
    if let Some(path) = icon {
        let bytes = Origin::new(Some(path.clone()))?.read(MAX_SIZE)?;
        let Some(media_type) = image_type(&bytes) else {
            let message = format!("{} is not an image of a known type", path.display());
            return Err(Error::Usage(message));
        };
        let data = base64::encode(&bytes);
        meta.insert("icon".to_owned(), json!({"base64data": data, "mediatype": media_type}));
    }
    let limits = unlade_catalog::Limits::default().document;
    let meta = Meta::from_json(&json!(meta).to_string(), &limits).map_err(Error::Package)?;
    let form = Form::from(*output);
    let text = form.write(&meta.to_json(), &limits).map_err(Error::Emit)?;
    render::print(&text, form, screen)
}

/// Returns the type of an image by its content.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let kind = infer::get(bytes).filter(|kind| kind.matcher_type() == infer::MatcherType::Image);
    kind.map(|kind| kind.mime_type()).or_else(|| is_svg(bytes).then_some(SVG))
}

/// Checks whether the root element is `svg`, which may follow a declaration, comments and a
/// document type.
fn is_svg(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<!") => ">",
            _ => break,
        };
        let Some((_, after)) = rest.split_once(end) else { return false };
        rest = after.trim_start();
    }
    let name = rest.strip_prefix('<').and_then(|rest| {
        rest.split(|character: char| character.is_whitespace() || "/>".contains(character)).next()
    });
    name.is_some_and(|name| name == "svg" || name.ends_with(":svg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_recognised_by_their_content() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Some(SVG)),
            (
                b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <html> -->\n<!DOCTYPE svg>\n<svg>",
                Some(SVG),
            ),
            (b"<svg:svg/>", Some(SVG)),
            (b"<html><svg/></html>", None),
            (b"<!-- <svg>", None),
            (b"text", None),
            (b"PK\x03\x04", None),
            (b"", None),
        ] {
            assert_eq!(image_type(bytes), expected, "{bytes:?}");
        }
    }
}
