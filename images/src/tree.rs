//! The content of an image as files in a directory, for an engine to copy.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use unlade_oci::build::{Data, Entry, Image, Kind};

/// Writes the files, directories and links of all layers into a new directory, with their modes;
/// they belong to the user of this process. A later entry replaces
/// a file or a link with the same path.
///
/// # Errors
///
/// Returns an error if `directory` exists, if a file cannot be read or written, if a file or a link
/// has the path of a directory, or if the image contains anything except files, directories and
/// symbolic links.
pub fn write(image: &Image, directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(0o755))?;
    image
        .layers
        .iter()
        .flat_map(|layer| &layer.entries)
        .try_for_each(|entry| write_entry(entry, directory))
}

fn write_entry(entry: &Entry, directory: &Path) -> io::Result<()> {
    let mut path = directory.to_owned();
    let mut parts = entry.path.trim_matches('/').split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_some() && !path.is_dir() {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
    }
    // An upper layer replaces what a lower one has. Writing to a link would change its target.
    if path.symlink_metadata().is_ok_and(|old| !old.is_dir()) {
        fs::remove_file(&path)?;
    }
    match &entry.kind {
        Kind::Link(target) => return symlink(target, &path),
        Kind::Directory if path.is_dir() => {}
        Kind::Directory => fs::create_dir(&path)?,
        Kind::File(Data::Bytes(bytes)) => fs::write(&path, bytes)?,
        Kind::File(Data::Path(file)) => fs::copy(file, &path).map(|_| ())?,
        other => return Err(io::Error::other(format!("{}: {other:?}", entry.path))),
    }
    fs::set_permissions(&path, Permissions::from_mode(entry.mode))
}

#[cfg(test)]
mod tests {
    use unlade_oci::build::Layer;

    use super::*;

    #[test]
    fn files_have_their_modes_and_links_their_targets() {
        let directory = tempfile::tempdir().unwrap();
        let mut image = Image::from_scratch("linux/amd64".parse().unwrap());
        image.layers.push(Layer::new([
            Entry::file("program", "x").with_mode(0o755),
            Entry::file("usr/share/text", "y"),
            Entry::link("bin/it", "../program"),
        ]));
        let tree = directory.path().join("tree");
        write(&image, &tree).unwrap();
        let mode = |path: &str| tree.join(path).metadata().unwrap().permissions().mode() & 0o7777;
        let modes = ["program", "usr", "usr/share/text", "bin/it"].map(mode);
        assert_eq!(modes, [0o755, 0o755, 0o644, 0o755]);
        assert_eq!(fs::read_link(tree.join("bin/it")).unwrap(), Path::new("../program"));
        assert!(write(&image, &tree).is_err());
    }

    #[test]
    fn an_upper_layer_replaces_files_and_links() {
        let directory = tempfile::tempdir().unwrap();
        let mut image = Image::from_scratch("linux/amd64".parse().unwrap());
        image.layers.push(Layer::new([
            Entry::file("program", "x"),
            Entry::link("bin/it", "../program"),
            Entry::link("bin/other", "../program"),
            Entry::directory("tmp"),
        ]));
        image.layers.push(Layer::new([
            Entry::link("bin/it", "../server"),
            Entry::file("bin/other", "y"),
            Entry::directory("tmp").with_mode(0o1777),
        ]));
        let tree = directory.path().join("tree");
        write(&image, &tree).unwrap();
        assert_eq!(fs::read_link(tree.join("bin/it")).unwrap(), Path::new("../server"));
        assert_eq!(fs::read(tree.join("program")).unwrap(), b"x");
        assert!(tree.join("bin/other").symlink_metadata().unwrap().is_file());
        assert_eq!(tree.join("tmp").metadata().unwrap().permissions().mode() & 0o7777, 0o1777);
    }
}
