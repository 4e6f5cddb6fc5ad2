//! What backends do with the requests that are sent to them.

use evenkeel_core::Nanos;

use super::Engine;
use super::events::{Event, Reply};
use super::request::{Caller, Job};
use super::slab::NONE;

impl Engine<'_> {
    /// A request has come to its backend.
    #[inline]
    pub(super) fn begin_job(&mut self, place: u32) {
        let epoch = self.next_number();
        let Some(request) = self.requests.get_mut(place) else {
            return;
        };
        let number = request.at.server;
        let server = &mut self.servers[number as usize];
        // The first try does the same work under every strategy; later ones have work of their own.
        let tries = u64::from(request.tried.count().max(1)) - 1;
        let work = server.work(
            request.seed.wrapping_add(tries.rotate_right(8)),
            request.key,
        );
        let job = self.jobs.insert(Job {
            request: place,
            server: number,
            seed: request.seed,
            key: request.key,
            left: work,
            since: self.now,
            epoch,
            working: false,
            came: self.now,
            found: server.present,
            calls: 0,
            awaits: NONE,
        });
        request.at.job = job;
        server.enter(self.now);
        if server.spec.shared {
            self.share(number, Some((job, work)));
        } else if server.has_slot() {
            server.running += 1;
            self.work_on(job);
        } else {
            server.waiting.push_back(job);
        }
    }

    /// A job that holds a slot begins, or goes on.
    #[inline]
    pub(super) fn work_on(&mut self, place: u32) {
        let Some(job) = self.jobs.get_mut(place) else {
            return;
        };
        job.since = self.now;
        job.working = true;
        let conditions = &self.servers[job.server as usize].conditions;
        if conditions.paused {
            return;
        }
        let span = Nanos((job.left * conditions.slow) as u64);
        let epoch = job.epoch;
        self.agenda
            .plan(self.now + span, Event::Done { job: place, epoch });
    }

    pub(super) fn job_done(&mut self, place: u32, epoch: u32) {
        let Some(job) = self.jobs.get_mut(place) else {
            return;
        };
        if job.epoch == epoch && job.working {
            job.working = false;
            self.worked(place);
        }
    }

    /// A job's own work is done: others are called, and then it is answered.
    #[inline]
    fn worked(&mut self, place: u32) {
        let Some(job) = self.jobs.get_mut(place) else {
            return;
        };
        let server = &self.servers[job.server as usize];
        let Some(sidecar) = server.sidecars.get(job.calls as usize).copied() else {
            return self.reply(place, Reply::Well);
        };
        job.calls += 1;
        let call = u64::from(job.calls).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (seed, key) = ((job.seed ^ call).rotate_left(17), job.key);
        let request = self.ask(sidecar, Caller::Job(place), seed, key);
        // It may have been answered already, and the place be another job's.
        let is_open = |caller| caller == Caller::Job(place);
        if self
            .requests
            .get(request)
            .is_some_and(|r| is_open(r.caller))
            && let Some(job) = self.jobs.get_mut(place)
        {
            job.awaits = request;
        }
    }

    /// A call that a job waited for has ended.
    pub(super) fn call_ended(&mut self, place: u32, well: bool) {
        if let Some(job) = self.jobs.get_mut(place) {
            job.awaits = NONE;
        }
        if well {
            self.worked(place);
        } else {
            self.reply(place, Reply::Status(500));
        }
    }

    /// A job ends, its slot goes to the next one, and who waits for it hears.
    #[inline]
    fn reply(&mut self, place: u32, reply: Reply) {
        let Some(job) = self.jobs.remove(place) else {
            return;
        };
        let server = &mut self.servers[job.server as usize];
        server.touch(self.now);
        server.present -= 1;
        if self.asks {
            server.estimate.note(job.found, self.now.since(job.came));
        }
        if !server.spec.shared {
            match server.waiting.pop_front() {
                Some(next) => self.work_on(next),
                None => server.running -= 1,
            }
        }
        if job.request != NONE {
            self.job_answered(job.request, place, reply);
        }
    }

    /// Something changes among the jobs that a backend serves all at once.
    #[inline]
    pub(super) fn share(&mut self, number: u32, comes: Option<(u32, f64)>) {
        let server = &mut self.servers[number as usize];
        let (cores, conditions) = (server.spec.cores, &server.conditions);
        let sharing = &mut server.sharing;
        sharing.advance(self.now, cores, conditions);
        if let Some((job, work)) = comes {
            sharing.add(job, work);
        }
        sharing.epoch = sharing.epoch.wrapping_add(1);
        if let Some(at) = sharing.next(cores, conditions) {
            let (backend, epoch) = (number, sharing.epoch);
            self.agenda.plan(at, Event::Shared { backend, epoch });
        }
    }

    pub(super) fn share_done(&mut self, number: u32, epoch: u32) {
        let server = &mut self.servers[number as usize];
        if server.sharing.epoch != epoch {
            return;
        }
        server.touch(self.now);
        let (cores, conditions) = (server.spec.cores, &server.conditions);
        server.sharing.advance(self.now, cores, conditions);
        let done = server.sharing.pop_done();
        self.share(number, None);
        if let Some(job) = done {
            self.worked(job);
        }
    }

    /// All work of a backend is lost, and who waits for it sees the connection end.
    pub(super) fn lose_work(&mut self, number: u32) {
        let lost: Vec<u32> = self
            .jobs
            .places()
            .filter(|(_, job)| job.server == number)
            .map(|(place, _)| place)
            .collect();
        let server = &mut self.servers[number as usize];
        server.touch(self.now);
        server.present = 0;
        server.running = 0;
        server.waiting.clear();
        server.sharing.jobs.clear();
        if let Some(cache) = &mut server.cache {
            cache.clear();
        }
        let mut cut = Vec::new();
        for place in lost {
            let Some(job) = self.jobs.remove(place) else {
                continue;
            };
            if let Some(call) = self.requests.get_mut(job.awaits) {
                call.caller = Caller::Nobody;
            }
            cut.push((job.request, place));
        }
        self.share(number, None);
        for (request, job) in cut {
            if request != NONE {
                self.job_answered(request, job, Reply::Reset);
            }
        }
    }

    /// Brings the work of a backend up to now; to be called before its pace changes.
    pub(super) fn settle_work(&mut self, number: u32) {
        let server = &mut self.servers[number as usize];
        server.touch(self.now);
        let (cores, conditions) = (server.spec.cores, &server.conditions);
        server.sharing.advance(self.now, cores, conditions);
        let (slow, paused) = (conditions.slow, conditions.paused);
        for place in self.working(number) {
            let epoch = self.next_number();
            if let Some(job) = self.jobs.get_mut(place) {
                let span = self.now.since(job.since).0 as f64;
                if !paused {
                    job.left = (job.left - span / slow).max(0.0);
                }
                job.since = self.now;
                job.epoch = epoch;
            }
        }
    }

    /// Goes on at the new pace.
    pub(super) fn resume_work(&mut self, number: u32) {
        for place in self.working(number) {
            self.work_on(place);
        }
        if self.servers[number as usize].spec.shared {
            self.share(number, None);
        }
    }

    /// The jobs that hold a slot of a backend and work.
    fn working(&self, number: u32) -> Vec<u32> {
        let all = self.jobs.places();
        all.filter(|(_, job)| job.server == number && job.working)
            .map(|(place, _)| place)
            .collect()
    }
}
