use super::*;

#[test]
fn a_remedy_depends_on_the_reason_and_on_what_was_done() {
    use Remedy as R;
    for reason in Reason::ALL {
        let (injected, mounted): (&[R], &[R]) = match reason {
            Reason::Unauthorized => (&[R::PullSecret], &[R::PullSecret]),
            Reason::NoMatchingPlatform | Reason::ExecFormat => {
                (&[R::NodeSelector], &[R::NodeSelector])
            }
            Reason::Quota | Reason::LimitRange => (&[R::Resources], &[R::Resources]),
            Reason::VolumeUnsupported => (&[], &[R::Inject]),
            Reason::RunAsNonRoot => (&[R::User], &[R::User]),
            Reason::OutOfMemory => (&[R::MemoryLimit], &[R::MemoryLimit]),
            Reason::Forbidden => (&[R::Check], &[R::Check]),
            Reason::NameTaken => (&[R::Name], &[R::Name]),
            Reason::Unreadable => (&[R::ImageVolume, R::User], &[R::User]),
            Reason::ImageUnverified => (&[R::ImageVolume], &[]),
            _ => (&[], &[]),
        };
        for (strategy, expected) in [(Strategy::Inject, injected), (Strategy::ImageVolume, mounted)]
        {
            let failure = Failure::new(reason, "it failed").without_remedies_of(strategy);
            assert_eq!(failure.remedies, expected, "{reason:?} under {strategy:?}");
        }
    }
}

#[test]
fn nothing_that_is_recorded_names_a_flag() {
    for reason in Reason::ALL {
        let text = serde_json::to_string(&Failure::new(reason, "it failed")).unwrap();
        assert!(!text.contains("--"), "{text}");
    }
}
