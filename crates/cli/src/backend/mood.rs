//! How a backend is told to be while it runs: well, or in one of the troubles that backends have.

use std::sync::Mutex;
use std::time::Duration;

use evenkeel_core::unpoisoned;
use tokio::time::Instant;

/// How much longer a slow one takes.
const SLOW: f64 = 8.0;
/// The share of a sick one's answers that are errors.
const SICK: f64 = 0.6;
/// How much longer one takes that has just begun to be cold.
const COLD: f64 = 10.0;
/// How long it takes to warm up.
const WARM_AFTER: Duration = Duration::from_secs(30);

/// The moods by name, the first one being that of a healthy backend.
pub(crate) const MOODS: [&str; 5] = ["well", "slow", "sick", "full", "cold"];

/// What a backend is told to be, and since when.
#[derive(Debug, Default)]
pub(crate) struct Mood(Mutex<Option<(&'static str, Instant)>>);

/// What a mood does to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effect {
    /// It takes so many times as long.
    pub(crate) slowness: f64,
    /// The share of answers that are errors.
    pub(crate) errors: f64,
    /// It is refused.
    pub(crate) is_full: bool,
}

impl Mood {
    /// Tells the backend how to be; `false` when there is no such mood.
    pub(crate) fn set(&self, name: &str) -> bool {
        let known = MOODS.iter().find(|known| **known == name);
        if let Some(name) = known {
            *unpoisoned(self.0.lock()) = Some((name, Instant::now()));
        }
        known.is_some()
    }

    /// The name of the mood.
    pub(crate) fn name(&self) -> &'static str {
        unpoisoned(self.0.lock()).map_or(MOODS[0], |(name, _)| name)
    }

    /// What it does now.
    pub(crate) fn now(&self) -> Effect {
        let told = *unpoisoned(self.0.lock());
        told.map_or(Effect::WELL, |(name, since)| {
            Effect::of(name, since.elapsed())
        })
    }
}

impl Effect {
    const WELL: Self = Self {
        slowness: 1.0,
        errors: 0.0,
        is_full: false,
    };

    fn of(mood: &str, lasted: Duration) -> Self {
        let well = Self::WELL;
        match mood {
            "slow" => Self {
                slowness: SLOW,
                ..well
            },
            "sick" => Self {
                errors: SICK,
                ..well
            },
            "full" => Self {
                is_full: true,
                ..well
            },
            "cold" => {
                let left = 1.0 - (lasted.as_secs_f64() / WARM_AFTER.as_secs_f64()).min(1.0);
                Self {
                    slowness: 1.0 + (COLD - 1.0) * left,
                    ..well
                }
            }
            _ => well,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mood_is_taken_by_its_name_and_no_other() {
        let mood = Mood::default();
        assert_eq!((mood.name(), mood.now()), ("well", Effect::WELL));
        assert!(mood.set("full") && mood.now().is_full);
        assert!(!mood.set("angry"));
        assert_eq!(mood.name(), "full");
        assert!(mood.set("well") && mood.now() == Effect::WELL);
    }

    #[test]
    fn who_is_cold_warms_up() {
        let slowness = |seconds| Effect::of("cold", Duration::from_secs(seconds)).slowness;
        assert_eq!(slowness(0), COLD);
        assert!(slowness(15) < COLD && slowness(15) > 1.0);
        assert_eq!((slowness(30), slowness(300)), (1.0, 1.0));
    }
}
