//! Another backend is asked too when one has been silent for a while, and the one that answers first is heard:
//! by the gateway's rules.

use super::Engine;
use super::deadlines::TRY;
use super::request::{Try, Which};
use super::tries::{End, Failure};

impl Engine<'_> {
    /// A request has waited for long enough at one backend: another one is asked beside, if that is allowed and
    /// there is one.
    pub(super) fn hedge(&mut self, place: u32) {
        if !self.may_try_another(place) {
            return;
        }
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let (number, counts) = (request.balancer as usize, request.counts);
        let first = std::mem::replace(&mut request.at, Try::NOWHERE);
        request.silent = Some(Box::new(first));
        if self.try_somewhere(place).is_err() {
            self.balancers[number].give_back_retry(self.now);
            self.go_back(place);
            return;
        }
        self.record.retries += u64::from(counts);
    }

    /// One of two tries has ended; whether the request has ended with it as far as the other one is
    /// concerned. Who begins an answer is heard, and the other one is dropped; who fails before leaves it to
    /// the other one.
    pub(super) fn settle_race(
        &mut self,
        place: u32,
        which: Which,
        failure: Option<Failure>,
    ) -> bool {
        let Some(request) = self.requests.get_mut(place) else {
            return false;
        };
        let Some(silent) = request.silent.take() else {
            return true;
        };
        let latest = std::mem::replace(&mut request.at, Try::NOWHERE);
        let (ended, other) = match which {
            Which::Latest => (latest, *silent),
            Which::Silent => (*silent, latest),
        };
        if matches!(failure, None | Some(Failure::Status(_))) {
            request.at = ended;
            self.end_try(place, other, End::Dropped);
            return true;
        }
        request.at = other;
        self.end_try(place, ended, End::of(failure));
        if which == Which::Silent {
            // The one that is left has the time of a try for itself.
            self.deadlines[usize::from(TRY)].remove(place);
            self.await_by(TRY, place);
        }
        false
    }

    /// Drops the later of two tries.
    pub(super) fn drop_latest(&mut self, place: u32) {
        if let Some(dropped) = self.go_back(place) {
            self.end_try(place, dropped, End::Dropped);
        }
    }

    /// Goes back to the earlier of two tries, if there are two.
    fn go_back(&mut self, place: u32) -> Option<Try> {
        let request = self.requests.get_mut(place)?;
        let silent = request.silent.take()?;
        Some(std::mem::replace(&mut request.at, *silent))
    }
}
