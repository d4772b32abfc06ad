use super::*;

#[test]
fn an_applied_remedy_is_left_out() {
    let failure = Failure::new(Reason::Unreadable, "it failed");
    let failure = failure.without_remedy(Remedy::ImageVolume).without_remedy(Remedy::Inject);
    assert_eq!(failure.remedies, [Remedy::User]);
}

#[test]
fn nothing_that_is_recorded_names_a_flag() {
    for reason in Reason::ALL {
        let text = serde_json::to_string(&Failure::new(reason, "it failed")).unwrap();
        assert!(!text.contains("--"), "{text}");
    }
}
