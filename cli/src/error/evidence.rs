//! Formats the evidence of a failure on a cluster.

use unlade_launcher::{Evidence, Failure};

/// Returns the evidence in lines, which are not escaped.
pub(crate) fn lines(failure: &Failure) -> Vec<String> {
    let Evidence { object, message, container, state, exit_code, log, .. } = &failure.evidence;
    let place = match (object, container) {
        (Some(object), Some(container)) => format!("{object}, container {container}"),
        (Some(object), None) => object.to_string(),
        (None, Some(container)) => format!("container {container}"),
        (None, None) => String::new(),
    };
    let code = exit_code.map(|code| format!("exit code {code}"));
    let state = [state.clone(), code].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    // The message often quotes the evidence. If the place is known, the state is shown anyway,
    // because the line says which object or container has it.
    let is_quoted = || failure.message.to_lowercase().contains(&state.to_lowercase());
    match (place.is_empty(), state.is_empty()) {
        (true, _) if is_quoted() => {}
        (false, false) => lines.push(format!("{place}: {state}")),
        _ => lines.push(format!("{place}{state}")),
    }
    let is_new = |text: &&String| !failure.message.contains(text.as_str());
    lines.extend(message.iter().filter(is_new).flat_map(|text| text.lines().map(str::to_owned)));
    lines.extend(log.iter().map(|line| format!("| {line}")));
    lines
}

#[cfg(test)]
mod tests {
    use unlade_launcher::{ObjectRef, Reason};

    use super::*;

    fn evidence() -> Evidence {
        let mut evidence = Evidence::default();
        evidence.object = Some(ObjectRef::pod("etcd-1-x"));
        evidence
    }

    fn shown(message: &str, evidence: Evidence) -> String {
        lines(&Failure::new(Reason::BadBundle, message).with_evidence(evidence)).join("\n")
    }

    #[test]
    fn absent_evidence_leaves_no_gap() {
        assert_eq!(shown("m", Evidence::default()), "");
        assert_eq!(shown("m", evidence()), "pod/etcd-1-x");
        let mut full = evidence();
        full.container = Some("bundle".to_owned());
        full.state = Some("Error".to_owned());
        full.exit_code = Some(11);
        full.message = Some("first\nsecond".to_owned());
        full.log = vec!["the end".to_owned()];
        assert_eq!(
            shown("m", full),
            "pod/etcd-1-x, container bundle: Error, exit code 11\nfirst\nsecond\n| the end"
        );
    }

    #[test]
    fn evidence_that_the_message_quotes_is_left_out() {
        let mut evidence = evidence();
        evidence.message = Some("no such image".to_owned());
        assert_eq!(shown("the registry says: no such image", evidence), "pod/etcd-1-x");
        let mut evidence = Evidence::default();
        evidence.state = Some("Forbidden".to_owned());
        assert_eq!(shown("configmaps \"a\" is forbidden", evidence.clone()), "");
        assert_eq!(shown("the API server refuses it", evidence.clone()), "Forbidden");
        evidence.object = Some(ObjectRef::pod("etcd-1-x"));
        assert_eq!(shown("it is forbidden", evidence), "pod/etcd-1-x: Forbidden");
    }
}
