//! Writes blobs as a layout or an archive, which appears atomically.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path as FilePath;

use oci_spec::image::{Descriptor, OciLayoutBuilder};
use tar::{Builder, EntryType, Header};
use unlade_name::ImageReference;

use super::blob::Blobs;
use super::{Error, Written, WrittenImage, document};
use crate::layout::{CONTAINERD_NAME, INDEX, MARKER, REF_NAME};
use crate::{Reference, Select, Transport};

/// Calls `fill` to add blobs, and writes `output` with the root descriptor that it returns.
pub(super) fn write_staged(
    output: &Reference,
    fill: impl FnOnce(&mut Blobs) -> Result<(Descriptor, Vec<WrittenImage>), Error>,
) -> Result<Written, Error> {
    let name = match &output.select {
        None => None,
        Some(Select::Name(name)) => Some(name.as_str()),
        Some(_) => return Err(Error::Unsupported { output: output.to_string() }),
    };
    let path = output.path.as_path();
    match output.transport {
        Transport::Oci if fs::read_dir(path).is_ok_and(|mut files| files.next().is_some()) => {
            return Err(Error::Exists { path: path.to_owned() });
        }
        Transport::Oci | Transport::OciArchive => {}
        Transport::DockerArchive => {
            return Err(Error::Unsupported { output: output.to_string() });
        }
    }
    let fails = |source| Error::Output { path: path.to_owned(), source };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    // The temporary directory is next to the output, because renaming works only within one file
    // system.
    let stage = tempfile::Builder::new()
        .prefix(".unlade-image-")
        .tempdir_in(parent.unwrap_or(FilePath::new(".")))
        .map_err(fails)?;
    let mut blobs = Blobs::new(stage.path().join("layout"))?;
    let (root, images) = fill(&mut blobs)?;
    let digest = root.digest().clone();
    let marker = OciLayoutBuilder::default().image_layout_version("1.0.0").build()?;
    let files = LayoutFiles { marker: document::bytes(&marker)?, index: index(root, name)? };
    let written = match output.transport {
        Transport::OciArchive => files.write_archive(&blobs, path, &stage.path().join("archive")),
        _ => files.write_directory(&blobs, path),
    };
    written.map_err(fails)?;
    Ok(Written { digest, size: blobs.sizes.values().sum(), images })
}

/// Creates `index.json`, which lists the image or index under its name.
fn index(mut root: Descriptor, name: Option<&str>) -> Result<Vec<u8>, Error> {
    if let Some(name) = name {
        let mut annotations = HashMap::from([(REF_NAME.to_owned(), name.to_owned())]);
        // A tag alone is not the name of a repository.
        if let Ok(image) = ImageReference::parse(name)
            && name.contains('/')
        {
            annotations.insert(CONTAINERD_NAME.to_owned(), image.normalized());
        }
        root.set_annotations(Some(annotations));
    }
    Ok(document::bytes(&document::index(vec![root])?)?)
}

/// The files of a layout that are not blobs.
struct LayoutFiles {
    marker: Vec<u8>,
    index: Vec<u8>,
}

impl LayoutFiles {
    fn write_directory(&self, blobs: &Blobs, path: &FilePath) -> io::Result<()> {
        fs::write(blobs.directory.join(MARKER), &self.marker)?;
        fs::write(blobs.directory.join(INDEX), &self.index)?;
        fs::rename(&blobs.directory, path)
    }

    fn write_archive(&self, blobs: &Blobs, path: &FilePath, stage: &FilePath) -> io::Result<()> {
        let mut builder = Builder::new(BufWriter::new(File::create(stage)?));
        for (name, bytes) in [(MARKER, &self.marker), (INDEX, &self.index)] {
            builder.append_data(&mut header(bytes.len() as u64), name, bytes.as_slice())?;
        }
        for (name, size) in &blobs.sizes {
            let blob = File::open(blobs.directory.join(name))?;
            builder.append_data(&mut header(*size), name, blob)?;
        }
        let mut writer = builder.into_inner()?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        fs::rename(stage, path)
    }
}

fn header(size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
