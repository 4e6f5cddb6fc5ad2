//! Who matters more, and why a request is turned away.

/// How much a request matters; the first one matters most.
///
/// # Examples
///
/// ```
/// use evenkeel_core::Priority;
///
/// assert!(Priority::Critical < Priority::Sheddable);
/// assert_eq!(Priority::default().as_str(), "default");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Served first, and turned away last.
    Critical,
    /// As requests are that say nothing.
    #[default]
    Default,
    /// The first to be turned away.
    Sheddable,
}

impl Priority {
    /// All of them, the most important first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Default, Self::Sheddable];

    /// The word for it in configuration and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Default => "default",
            Self::Sheddable => "sheddable",
        }
    }

    /// What an urgency of RFC 9218 stands for: 0 to 2, 3 (the default there too), and what lies beyond.
    #[must_use]
    pub const fn of_urgency(urgency: u8) -> Self {
        match urgency {
            0..=2 => Self::Critical,
            3 => Self::Default,
            4.. => Self::Sheddable,
        }
    }
}

/// Why a request is turned away, as metrics tell it.
///
/// # Examples
///
/// ```
/// use evenkeel_core::ShedReason;
///
/// assert_eq!(ShedReason::QueueFull.as_str(), "queue_full");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShedReason {
    /// All endpoints are full, and there is no queue.
    Capacity,
    /// It could not have been served in time.
    Deadline,
    /// A more important one took its place in a full queue.
    Priority,
    /// The queue is full of what is as important.
    QueueFull,
    /// Its time in the queue was over.
    QueueTimeout,
}

impl ShedReason {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Capacity,
        Self::Deadline,
        Self::Priority,
        Self::QueueFull,
        Self::QueueTimeout,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Deadline => "deadline",
            Self::Priority => "priority",
            Self::QueueFull => "queue_full",
            Self::QueueTimeout => "queue_timeout",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgencies_are_priorities() {
        let of = |urgency| Priority::of_urgency(urgency).as_str();
        assert_eq!(
            [0, 2, 3, 4, 7, 255].map(of),
            [
                "critical",
                "critical",
                "default",
                "sheddable",
                "sheddable",
                "sheddable"
            ]
        );
        assert!(Priority::Critical < Priority::Default && Priority::Default < Priority::Sheddable);
    }
}
