//! [`Pair`] and [`Amounts`]: `KEY=VALUE`, and a list of resources with their amounts.

use std::collections::BTreeMap;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use unlade_launcher::is_quantity;

/// `KEY=VALUE`. The value may be empty and may contain `=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// Amounts of resources, such as `cpu=100m,memory=64Mi`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Amounts(pub(crate) BTreeMap<String, Quantity>);

/// Why a text is neither a [`Pair`] nor [`Amounts`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    /// The text has no `=`, or no key before it.
    #[error("expected KEY=VALUE")]
    Pair,
    /// The amount is not a quantity, such as `1 GB` or `lots`.
    #[error("expected an amount of {0} such as 100m or 64Mi")]
    Amount(String),
}

impl FromStr for Pair {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                Ok(Self { key: key.to_owned(), value: value.to_owned() })
            }
            _ => Err(Error::Pair),
        }
    }
}

impl FromStr for Amounts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let amounts = text.split(',').map(|part| {
            let Pair { key, value } = part.trim().parse()?;
            if is_quantity(&value) { Ok((key, Quantity(value))) } else { Err(Error::Amount(key)) }
        });
        amounts.collect::<Result<_, _>>().map(Self)
    }
}

/// Collects `pairs` into a map. The last value of each key wins, as in kubectl.
pub(crate) fn map(pairs: Vec<Pair>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|Pair { key, value }| (key, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read() {
        let pair = |key: &str, value: &str| Pair { key: key.to_owned(), value: value.to_owned() };
        assert_eq!("a=b".parse(), Ok(pair("a", "b")));
        assert_eq!("a/b=c=d".parse(), Ok(pair("a/b", "c=d")));
        assert_eq!("a=".parse(), Ok(pair("a", "")));
        for text in ["", "a", "=b"] {
            assert_eq!(text.parse::<Pair>(), Err(Error::Pair), "{text}");
        }
    }

    #[test]
    fn amounts_are_quantities_of_kubernetes() {
        let Amounts(amounts) = "cpu=100m, memory=1.5Gi".parse().unwrap();
        assert_eq!(amounts["cpu"].0, "100m");
        assert_eq!(amounts["memory"].0, "1.5Gi");
        assert_eq!("cpu=lots".parse::<Amounts>(), Err(Error::Amount("cpu".to_owned())));
        assert_eq!("cpu=1,".parse::<Amounts>(), Err(Error::Pair));
    }
}
