//! The service account that was given: it is there, and may fill the ConfigMap.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::access::Action;
use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic, joined};
use crate::launch::ask_for;
use crate::{Failure, Reason};

const EXISTS: Topic = Topic(Category::ServiceAccount, "exists");
const RIGHTS: Topic = Topic(Category::ServiceAccount, "rights");

/// What the unpacker does to its ConfigMap.
const VERBS: [&str; 2] = ["get", "update"];

/// What was found of a given account; nothing of one that a launch makes.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) checks: Vec<Check>,
    /// Its own pull secrets, which count for a pod that names none.
    pub(super) pull_secrets: Vec<String>,
}

/// Looks at it; `config_map` is the name of the one that is to be filled, if it is known.
pub(super) async fn check(
    cluster: &Cluster<'_>,
    account: Option<&str>,
    config_map: Option<&str>,
) -> Account {
    let Some(name) = account else { return Account::default() };
    let api = cluster.api::<ServiceAccount>();
    let may = async |verb| {
        let action = Action { group: "", resource: "configmaps", verb, name: config_map };
        cluster.may_account(name, action).await
    };
    let [get, update] = VERBS;
    let doing = format!("read ServiceAccount {name}");
    let (found, get, update) =
        futures::join!(ask_for(&doing, || api.get_opt(name)), may(get), may(update));
    let rights = match get.and_then(|get| Ok([get, update?])) {
        Ok(held) => judge(name, config_map, held),
        Err(failure) => untold(name, failure),
    };
    match found {
        Ok(Some(found)) => {
            let secrets = found.image_pull_secrets.into_iter().flatten();
            Account {
                checks: vec![EXISTS.ok(format!("the service account {name} is there")), rights],
                pull_secrets: secrets.map(|secret| secret.name).collect(),
            }
        }
        Ok(None) => {
            let message = format!("the service account {name} isn't there");
            let missing =
                EXISTS.of(Outcome::Failed, Failure::new(Reason::NoServiceAccount, message));
            let left_out = RIGHTS.left_out("its rights aren't looked at: it isn't there");
            Account { checks: vec![missing, left_out], ..Account::default() }
        }
        Err(failure) => Account {
            checks: vec![EXISTS.of(Outcome::Warning, failure), rights],
            ..Account::default()
        },
    }
}

fn judge(name: &str, config_map: Option<&str>, held: [bool; 2]) -> Check {
    let missing: Vec<_> =
        VERBS.into_iter().zip(held).filter(|(_, held)| !held).map(|(verb, _)| verb).collect();
    let which = match config_map {
        Some(config_map) => format!("the ConfigMap {config_map}"),
        None => "any ConfigMap".to_owned(),
    };
    if missing.is_empty() {
        return RIGHTS.ok(format!("the service account {name} may get and update {which}"));
    }
    // Rights may be limited to names, which only an image tells.
    let outcome = if config_map.is_some() { Outcome::Failed } else { Outcome::Warning };
    let message = format!("the service account {name} may not {} {which}", joined(&missing, "or"));
    let verbs = missing.join(", ");
    RIGHTS.check(outcome, message).hinted(format!(
        "a Role and a RoleBinding give it: {{apiGroups: [\"\"], resources: [configmaps], verbs: [{verbs}]}}"
    ))
}

fn untold(name: &str, failure: Failure) -> Check {
    match failure.reason {
        Reason::Forbidden => RIGHTS.warning(format!(
            "can't tell what the service account {name} may do: asking for another is forbidden"
        )),
        _ => RIGHTS.of(Outcome::Warning, failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_needs_both_rights_on_the_config_map() {
        for (held, outcome) in [
            ([true, true], Outcome::Ok),
            ([true, false], Outcome::Failed),
            ([false, true], Outcome::Failed),
            ([false, false], Outcome::Failed),
        ] {
            assert_eq!(judge("unpacker", Some("etcd"), held).outcome, outcome, "{held:?}");
        }
        let check = judge("unpacker", Some("etcd"), [true, false]);
        assert_eq!(check.message, "the service account unpacker may not update the ConfigMap etcd");
        // It may well have them on the one that it will be.
        assert_eq!(judge("unpacker", None, [true, false]).outcome, Outcome::Warning);
    }

    #[test]
    fn rights_that_may_not_be_asked_for_are_no_failure() {
        let forbidden = untold("unpacker", Failure::new(Reason::Forbidden, "no"));
        assert_eq!(forbidden.outcome, Outcome::Warning);
    }
}
