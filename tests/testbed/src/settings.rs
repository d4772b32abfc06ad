//! Which testbed to use, and where its files are.

use std::env;
use std::path::PathBuf;

use crate::Error;

/// The name of a testbed, and the places of its files.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name, which distinguishes the testbeds of a machine.
    pub name: String,
    /// The directory that holds a directory for each running testbed.
    pub state: PathBuf,
    /// The directory for built programs.
    pub cache: PathBuf,
}

impl Settings {
    /// Reads `UNLADE_TESTBED` (the name, else `default`), `UNLADE_TESTBED_STATE` (else
    /// `/var/lib/unlade-testbed`) and `UNLADE_TESTBED_CACHE` (else `unlade/testbed` below
    /// `XDG_CACHE_HOME` or `~/.cache`).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Setting`] if the name is not 1 to 20 lower-case letters, digits and dashes,
    /// or if a directory is not absolute: it is passed to programs that run elsewhere.
    pub fn from_env() -> Result<Self, Error> {
        let name = text("UNLADE_TESTBED").unwrap_or_else(|| "default".into());
        let state = directory("UNLADE_TESTBED_STATE", || "/var/lib/unlade-testbed".into())?;
        let cache = directory("UNLADE_TESTBED_CACHE", || {
            let home = || PathBuf::from(text("HOME").unwrap_or_else(|| "/root".into()));
            let caches = text("XDG_CACHE_HOME").map(PathBuf::from);
            caches.unwrap_or_else(|| home().join(".cache")).join("unlade/testbed")
        })?;
        Self { name: String::new(), state, cache }.named(&name)
    }

    /// Returns the same places for a testbed with another name.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Settings::from_env`].
    pub fn named(mut self, name: &str) -> Result<Self, Error> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        // At most 20 characters, because the name is a part of the paths of sockets (108 bytes) and
        // of the name of the network namespace.
        if name.is_empty() || name.len() > 20 || !name.chars().all(good) || name.starts_with('-') {
            return Err(Error::Setting {
                setting: "the testbed's name (UNLADE_TESTBED)",
                value: name.to_owned(),
                rule: "1 to 20 of a-z, 0-9 and -, the first not -",
            });
        }
        name.clone_into(&mut self.name);
        Ok(self)
    }
}

fn text(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

fn directory(setting: &'static str, default: impl FnOnce() -> PathBuf) -> Result<PathBuf, Error> {
    let path = text(setting).map_or_else(default, PathBuf::from);
    if path.is_absolute() {
        Ok(path)
    } else {
        let value = path.display().to_string();
        Err(Error::Setting { setting, value, rule: "an absolute path" })
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    fn named(name: &str) -> Result<String, String> {
        let places = Settings { name: String::new(), state: "/s".into(), cache: "/c".into() };
        places.named(name).map(|settings| settings.name).map_err(|error| error.to_string())
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for name in ["", "..", "a/b", "-a", "A", "a b", "aaaaaaaaaaaaaaaaaaaaa"] {
            assert!(named(name).is_err(), "{name}");
        }
        assert_eq!(named("ci-2").unwrap(), "ci-2");
    }
}
