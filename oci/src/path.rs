//! Paths in an image: bytes separated by slashes, relative to the root, without `.` and `..`.

use unlade_text::excerpt;

use crate::limit;

/// A path such as `manifests/etcd.yaml`. The path of the root is empty.
pub(crate) type Path = Vec<u8>;

/// Resolves `.`, `..` and repeated slashes in `written`. Returns `None` if the path leads out of
/// the image. A leading slash is ignored.
pub(crate) fn normalize(written: &[u8]) -> Option<Path> {
    let mut path = Path::with_capacity(written.len());
    for part in written.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let above = parent(&path)?.len();
                path.truncate(above);
            }
            part => {
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(part);
            }
        }
    }
    Some(path)
}

/// Returns the parent directory of `path`, or `None` for the root.
pub(crate) fn parent(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() {
        return None;
    }
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    path.get(..end)
}

/// Returns the last part of `path`.
pub(crate) fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns the parts of `path`, outermost first.
pub(crate) fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|part| !part.is_empty())
}

/// Checks whether `written`, a path or the target of a link, is longer or deeper than
/// [`limit::PATH`] and [`limit::DEPTH`].
pub(crate) fn is_too_long(written: &[u8]) -> bool {
    written.len() > limit::PATH
        || written.split(|byte| *byte == b'/').nth(limit::DEPTH + 1).is_some()
}

/// Checks whether `target`, the target of a hard link, names the same file if an engine cleans it
/// before it follows links. Without cleaning, `..` leads to the parent of the directory to which a
/// link leads, and a slash at the end follows a link. Builders write the path of an earlier entry.
pub(crate) fn is_clean_target(target: &[u8]) -> bool {
    parts(target).all(|part| part != b"..") && !matches!(name(target), b"" | b".")
}

/// Returns the parent directories of `path` without the root, outermost first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}

/// Joins `directory` and `name`.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Path {
    let mut path = directory.to_owned();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// Formats `path` for messages.
pub(crate) fn display(path: &[u8]) -> String {
    excerpt::shorten(&String::from_utf8_lossy(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_and_kept_inside() {
        for (written, cleaned) in [
            ("manifests/a", Some("manifests/a")),
            ("./manifests//a/", Some("manifests/a")),
            ("/manifests/a", Some("manifests/a")),
            ("x/../manifests/a", Some("manifests/a")),
            ("./", Some("")),
            ("../a", None),
            ("a/../../b", None),
            ("/..", None),
        ] {
            let cleaned = cleaned.map(|path| path.as_bytes().to_owned());
            assert_eq!(normalize(written.as_bytes()), cleaned, "{written}");
        }
    }

    #[test]
    fn a_path_is_split_at_slashes_only() {
        assert_eq!(parent(b"a/b/c"), Some(&b"a/b"[..]));
        assert_eq!(parent(b"a"), Some(&b""[..]));
        assert_eq!(parent(b""), None);
        assert_eq!(name(b"a/b"), b"b");
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a"[..], b"a/b"]);
        assert_eq!(parts(b"a/b/c").collect::<Vec<_>>(), [b"a", b"b", b"c"]);
        assert_eq!(parts(b"").count(), 0);
    }
}
