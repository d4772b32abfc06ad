//! Pushing an image.

use std::io::Read;

use unlade_name::{ImageReference, image::DEFAULT_TAG};
use unlade_oci::copy::{self, Destination, copy};
use unlade_oci::{Descriptor, Digest, Source};
use ureq::http::header::LOCATION;

use crate::client::{Ask, Client, resolve};
use crate::source::names_registry;
use crate::{Error, Options};

/// Copies the image or index in `source` into a registry, and returns its digest.
///
/// # Errors
///
/// Returns an error if the reference is not `HOST[:PORT]/REPOSITORY[:TAG]`, if the image cannot be
/// read or is not valid, or if the registry cannot be reached or refuses it.
pub fn push(source: &Source, image: &ImageReference, options: &Options) -> Result<Digest, Error> {
    // An image is only pushed where the reference says, not to the default registry.
    if image.is_digest() || !names_registry(image) {
        return Err(Error::Reference { image: image.to_string() });
    }
    let mut push = Push { client: Client::new(image, "pull,push", options)? };
    // An upload cannot be sent again after a challenge, so ask for the challenge first.
    let url = push.client.root();
    let what = "the API of the registry";
    push.client.ask(&Ask { method: "GET", url: &url, what, accept: "", from: 0, size: 0 })?;
    copy(source, &mut push).map_err(|error| match error {
        copy::Error::Destination(error) => error,
        error => Error::Image(Box::new(error)),
    })
}

struct Push {
    client: Client,
}

impl Destination for Push {
    type Error = Error;

    fn blob(&mut self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), Error> {
        let client = &self.client;
        let digest = blob.digest();
        let what = format!("blob {digest} of {}", client.image);
        let url = client.url(&format!("blobs/{digest}"));
        let ask = Ask { method: "HEAD", url: &url, what: &what, accept: "", from: 0, size: 0 };
        if client.ask(&ask)?.status() == 200 {
            return Ok(());
        }
        let url = client.url("blobs/uploads/");
        let answer = client.ask(&Ask { method: "POST", url: &url, ..ask })?;
        let answer = client.expect(answer, &[202], &what)?;
        let invalid = || Error::Invalid {
            what: what.clone(),
            problem: "it names no place for the upload".to_owned(),
        };
        let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        // The registry may name a place of its own, with a query or without.
        let place = place.and_then(|place| resolve(&url, place)).ok_or_else(invalid)?;
        client.check(&place, &what)?;
        let separator = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{separator}digest={digest}");
        let kind = ("application/octet-stream", blob.size());
        let answer = client.upload(&url, &what, kind, reader)?;
        client.expect(answer, &[201], &what).map(drop)
    }

    fn manifest(
        &mut self,
        manifest: &Descriptor,
        bytes: &[u8],
        is_root: bool,
    ) -> Result<(), Error> {
        let client = &self.client;
        let digest = manifest.digest().to_string();
        let reference = if is_root { client.image.tag().unwrap_or(DEFAULT_TAG) } else { &digest };
        let url = client.url(&format!("manifests/{reference}"));
        let what = format!("manifest {digest} of {}", client.image);
        let media_type = manifest.media_type().to_string();
        let answer = client.upload(&url, &what, (&media_type, manifest.size()), &mut &*bytes)?;
        client.expect(answer, &[201], &what).map(drop)
    }
}
