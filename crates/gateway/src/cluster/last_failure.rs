//! What the last failure of an endpoint was.

/// What a failed try came to, as far as it was taken down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastFailure {
    /// The status of its answer.
    pub(crate) status: Option<u16>,
    /// What went wrong, in a word.
    pub(crate) error: Option<&'static str>,
}

impl LastFailure {
    /// In a few words; none when nothing is known.
    pub(super) fn in_words(self) -> Option<String> {
        match (self.status, self.error) {
            (_, Some(error)) => Some(error.replace('_', " ")),
            (Some(status), None) => Some(format!("status {status}")),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_as_far_as_it_is_known() {
        let words = |status, error| LastFailure { status, error }.in_words();
        assert_eq!(words(Some(500), None).as_deref(), Some("status 500"));
        let refused = words(None, Some("connection_refused"));
        assert_eq!(refused.as_deref(), Some("connection refused"));
        // Its answer began, and did not end.
        let cut = words(Some(200), Some("connection_terminated"));
        assert_eq!(cut.as_deref(), Some("connection terminated"));
        assert_eq!(words(None, None), None);
    }
}
