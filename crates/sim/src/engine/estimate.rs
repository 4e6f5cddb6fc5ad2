//! What a backend says of its load when it is asked, as replicas do in Prequal: its requests in flight, and how
//! long requests took that came when there were about so many.

use evenkeel_core::Nanos;

/// How many answers are remembered.
const REMEMBERED: usize = 512;

/// The median of so many of them is told, those that came at the most similar number of requests.
const NEAREST: usize = 63;

/// An estimate is worked out again after so many answers, not at each question.
const FRESH: u32 = 16;

/// The answers that a backend remembers.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Requests in flight when one came, and how long it took.
    answers: Vec<(u32, u64)>,
    next: usize,
    /// How many have come, and at how many an estimate was worked out for which number.
    seen: u32,
    known: Vec<Option<(u32, u64)>>,
    scratch: Vec<(u32, u64)>,
}

impl Estimate {
    /// Remembers an answer.
    pub(super) fn note(&mut self, in_flight: u32, took: Nanos) {
        self.seen = self.seen.wrapping_add(1);
        let answer = (in_flight, took.0);
        if self.answers.len() < REMEMBERED {
            self.answers.push(answer);
        } else {
            self.answers[self.next] = answer;
            self.next = (self.next + 1) % REMEMBERED;
        }
    }

    /// How long a request takes that comes when there are so many.
    pub(super) fn latency(&mut self, in_flight: u32) -> Nanos {
        let at = in_flight as usize;
        if at >= self.known.len() {
            self.known.resize(at + 1, None);
        }
        if let Some((seen, latency)) = self.known[at]
            && self.seen.wrapping_sub(seen) < FRESH
        {
            return Nanos(latency);
        }
        let latency = self.work_out(in_flight);
        self.known[at] = Some((self.seen, latency));
        Nanos(latency)
    }

    fn work_out(&mut self, in_flight: u32) -> u64 {
        self.scratch.clear();
        let distance = |(then, took): &(u32, u64)| (then.abs_diff(in_flight), *took);
        self.scratch.extend(self.answers.iter().map(distance));
        if self.scratch.is_empty() {
            return 0;
        }
        let nearest = NEAREST.min(self.scratch.len());
        self.scratch
            .select_nth_unstable_by_key(nearest - 1, |(distance, _)| *distance);
        let near = &mut self.scratch[..nearest];
        let (_, median, _) = near.select_nth_unstable_by_key(nearest / 2, |(_, took)| *took);
        median.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_median_of_those_that_came_at_a_similar_number() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.latency(3), Nanos(0));
        for round in 0..600 {
            estimate.note(2, Nanos(100 + round % 3));
            estimate.note(9, Nanos(900));
        }
        assert_eq!(estimate.latency(2), Nanos(101));
        assert_eq!(estimate.latency(10), Nanos(900));
    }
}
