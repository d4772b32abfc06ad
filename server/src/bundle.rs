//! Assembles the message of a bundle from its parts.

use std::io;

use bytes::Bytes;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::content::Span;
use crate::index::{Csv, Index, Located};
use crate::message;

/// The number of the field with the ClusterServiceVersion.
const CSV: u32 = 4;
/// The number of the field with the objects.
const OBJECT: u32 = 5;
/// The maximum size of the texts in a message, in bytes. Clients of OLM already refuse messages of
/// more than 4 MiB.
const MAX_SIZE: usize = 16 << 20;

/// Returns the message of a bundle as `ListBundles` sends it: with its edges, and without its
/// objects if it has an image.
pub(crate) fn encode_listed(index: &Index, located: &Located<'_>) -> io::Result<Bytes> {
    let has_image = index.bundle(located.entry).is_some_and(|bundle| bundle.has_image);
    encode(index, located, true, !has_image)
}

/// Returns the message of a bundle as the other methods send it: with its objects, and without its
/// edges.
pub(crate) fn encode_whole(index: &Index, located: &Located<'_>) -> io::Result<Bytes> {
    encode(index, located, false, true)
}

/// Returns the message of a bundle as upstream stores it: with its objects and its edges.
pub(crate) fn encode_complete(index: &Index, located: &Located<'_>) -> io::Result<Bytes> {
    encode(index, located, true, true)
}

fn encode(
    index: &Index,
    located: &Located<'_>,
    with_edges: bool,
    with_objects: bool,
) -> io::Result<Bytes> {
    let mut buffer = Vec::new();
    let Located { channel_name, package, entry, .. } = *located;
    let Some(bundle) = index.bundle(entry) else {
        return Err(io::Error::other("the index is damaged"));
    };
    let read = |span: Span, buffer: &mut Vec<u8>| {
        if buffer.len() + span.len() > MAX_SIZE {
            let message = format!("the message of the bundle is larger than {MAX_SIZE} bytes");
            return Err(io::Error::other(message));
        }
        index.content.read(span, buffer)
    };
    // The fields of a message may come in any order.
    read(bundle.summary, &mut buffer)?;
    let mut own = message::Bundle {
        channel_name: channel_name.to_owned(),
        skip_range: entry.skip_range.clone(),
        deprecation: message::deprecation(bundle.deprecation.as_ref()),
        ..message::Bundle::default()
    };
    if with_edges {
        own.replaces.clone_from(&entry.replaces);
        own.skips = entry.skips.iter().map(str::to_owned).collect();
    }
    own.encode(&mut buffer).map_err(io::Error::other)?;
    if !with_objects {
        return Ok(buffer.into());
    }
    let mut append = |field, parts: &[Span]| {
        encode_key(field, WireType::LengthDelimited, &mut buffer);
        encode_varint(parts.iter().map(|part| part.len() as u64).sum(), &mut buffer);
        parts.iter().try_for_each(|part| read(*part, &mut buffer))
    };
    match &bundle.csv {
        Csv::None => {}
        Csv::Object(at) => {
            if let Some(object) = bundle.objects.get(*at) {
                append(CSV, &[*object])?;
            }
        }
        Csv::Synthesized { before, has_package_description, between, after } => {
            let description =
                if *has_package_description { package.description } else { Span::default() };
            let parts = [*before, description, *between, package.icon, *after];
            append(CSV, &parts)?;
            if bundle.objects.is_empty() {
                append(OBJECT, &parts)?;
            }
        }
    }
    for object in &bundle.objects {
        append(OBJECT, &[*object])?;
    }
    Ok(buffer.into())
}
