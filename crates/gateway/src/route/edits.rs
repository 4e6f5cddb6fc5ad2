//! Changes to fields, as a route's configuration has them and as heads take them.

use std::sync::Arc;

use evenkeel_config::FieldEdits;
use evenkeel_http1::Edit;

/// Changes to the fields of a head.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    set: Box<[(Arc<str>, Arc<str>)]>,
    remove: Box<[Arc<str>]>,
}

impl Edits {
    pub(super) fn new(edits: &FieldEdits) -> Self {
        Self {
            set: edits.set.as_slice().into(),
            remove: edits.remove.as_slice().into(),
        }
    }

    /// Hands the changes on, with `add` beside them. Nothing is allocated.
    #[inline]
    pub(crate) fn with<T>(&self, add: &[(&str, &str)], then: impl FnOnce(Edit<'_>) -> T) -> T {
        if self.set.is_empty() && self.remove.is_empty() {
            return then(Edit {
                add,
                ..Edit::default()
            });
        }
        let mut set = [("", ""); FieldEdits::MAX];
        let mut remove = [""; FieldEdits::MAX];
        for (slot, (name, value)) in set.iter_mut().zip(&self.set) {
            *slot = (name, value);
        }
        for (slot, name) in remove.iter_mut().zip(&self.remove) {
            *slot = name;
        }
        then(Edit {
            set: &set[..self.set.len().min(FieldEdits::MAX)],
            remove: &remove[..self.remove.len().min(FieldEdits::MAX)],
            add,
        })
    }
}
