//! Paths inside of an image: bytes between slashes, from the root, without `.` and `..`.

/// `manifests/etcd.yaml`; the root is empty.
pub(crate) type Path = Vec<u8>;

/// `written` from the root of the image, with `.`, `..` and doubled slashes resolved; none if it
/// climbs out. A leading slash is the root too.
pub(crate) fn clean(written: &[u8]) -> Option<Path> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in written.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}

/// The directory that `path` lies in; none for the root.
pub(crate) fn parent(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() {
        return None;
    }
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    path.get(..end)
}

/// The last part of `path`.
pub(crate) fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The directories above `path`, the root excepted, outermost first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}

/// Whether `path` lies somewhere beneath `directory`.
pub(crate) fn is_beneath(path: &[u8], directory: &[u8]) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) if directory.is_empty() => !rest.is_empty(),
        Some(rest) => rest.first() == Some(&b'/'),
        None => false,
    }
}

/// `name` in `directory`.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Path {
    let mut path = directory.to_owned();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// `path` for people.
pub(crate) fn display(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
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
            assert_eq!(clean(written.as_bytes()), cleaned, "{written}");
        }
    }

    #[test]
    fn parts_of_paths() {
        assert_eq!(parent(b"a/b/c"), Some(&b"a/b"[..]));
        assert_eq!(parent(b"a"), Some(&b""[..]));
        assert_eq!(parent(b""), None);
        assert_eq!(name(b"a/b"), b"b");
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a"[..], b"a/b"]);
        assert!(is_beneath(b"a/b", b"a") && is_beneath(b"a", b"") && !is_beneath(b"", b""));
        assert!(!is_beneath(b"ab", b"a") && !is_beneath(b"a", b"a"));
    }
}
