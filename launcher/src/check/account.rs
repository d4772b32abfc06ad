//! Checks of the given service account: whether it exists, and whether it may fill the ConfigMap.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::cluster::Cluster;
use super::review::Action;
use super::{Category, Check, Outcome, Topic, join_words};
use crate::call::send_for_value;
use crate::object::VERBS;
use crate::{Failure, Reason};

const EXISTS: Topic = Topic(Category::ServiceAccount, "exists");
const RIGHTS: Topic = Topic(Category::ServiceAccount, "permissions");

/// The checks of a given account. They are empty if a launch creates the account.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) checks: Vec<Check>,
    /// The account's own pull secrets, which apply to pods that name none.
    pub(super) pull_secrets: Vec<String>,
}

/// Runs the checks. `config_map` is the name of the ConfigMap to fill, if it is known.
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
    let doing = format!("read the ServiceAccount {name}");
    let (found, get, update) =
        futures::join!(send_for_value(&doing, || api.get_opt(name)), may(get), may(update));
    let rights = match get.and_then(|get| Ok([get, update?])) {
        Ok(held) => judge(name, config_map, held),
        Err(failure) => report_unknown(name, failure),
    };
    match found {
        Ok(Some(found)) => {
            let secrets = found.image_pull_secrets.into_iter().flatten();
            Account {
                checks: vec![EXISTS.ok(format!("the service account {name} exists")), rights],
                pull_secrets: secrets.map(|secret| secret.name).collect(),
            }
        }
        Ok(None) => {
            let message = format!("the service account {name} does not exist");
            let missing =
                EXISTS.report(Outcome::Failed, Failure::new(Reason::NoServiceAccount, message));
            let skipped = RIGHTS.skipped(
                "the permissions were not checked, because the service account does not exist",
            );
            Account { checks: vec![missing, skipped], ..Account::default() }
        }
        Err(failure) => Account {
            checks: vec![EXISTS.report(Outcome::Warning, failure), rights],
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
    // The permissions may be limited to names of ConfigMaps, and only an image determines the name.
    let outcome = if config_map.is_some() { Outcome::Failed } else { Outcome::Warning };
    let message =
        format!("the service account {name} may not {} {which}", join_words(&missing, "or"));
    let verbs = missing.join(", ");
    RIGHTS.check(outcome, message).with_hint(format!(
        "grant it with a Role and a RoleBinding: {{apiGroups: [\"\"], resources: [configmaps], verbs: [{verbs}]}}"
    ))
}

fn report_unknown(name: &str, failure: Failure) -> Check {
    match failure.reason {
        Reason::Forbidden => RIGHTS.warning(format!(
            "cannot check what the service account {name} may do: reviewing the access of another user is forbidden"
        )),
        _ => RIGHTS.report(Outcome::Warning, failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_needs_both_permissions_on_the_config_map() {
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
        // It may have the permissions on the ConfigMap of a launch.
        assert_eq!(judge("unpacker", None, [true, false]).outcome, Outcome::Warning);
    }

    #[test]
    fn permissions_that_cannot_be_reviewed_are_not_a_failure() {
        let forbidden = report_unknown("unpacker", Failure::new(Reason::Forbidden, "no"));
        assert_eq!(forbidden.outcome, Outcome::Warning);
    }
}
