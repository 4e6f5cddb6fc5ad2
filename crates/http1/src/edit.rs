//! Changes to fields that an operator asked for.

/// Fields to take away and to put in, as the configuration says.
///
/// Fields that frame a message or concern one connection, `Host`, and those that the gateway sets
/// itself (`X-Forwarded-*`, `x-request-id`) are not open to it: entries that name them do nothing.
///
/// Names must be tokens and values legal field values: whoever reads the configuration checks that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit<'a> {
    /// Names of fields to drop, in any case.
    pub remove: &'a [&'a str],
    /// Fields that replace all others of their name.
    pub set: &'a [(&'a str, &'a str)],
    /// Fields that are put beside others of their name, such as `Set-Cookie`.
    pub add: &'a [(&'a str, &'a str)],
}

impl Edit<'_> {
    /// Tells whether received fields have to be looked at one by one.
    pub(crate) const fn takes_away(&self) -> bool {
        !self.remove.is_empty() || !self.set.is_empty()
    }

    /// Tells whether a received field does not pass.
    pub(crate) fn drops(&self, name: &str) -> bool {
        self.remove
            .iter()
            .any(|other| other.eq_ignore_ascii_case(name))
            || self
                .set
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    /// The fields to append.
    pub(crate) fn additions(&self) -> impl Iterator<Item = &(&str, &str)> {
        self.set.iter().chain(self.add)
    }
}
