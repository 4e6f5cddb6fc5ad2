//! A strategy of one's own: held to the laws that hold for the built-in ones, and put to work.
//!
//! `cargo run --example own_strategy`

use std::sync::Arc;

use evenkeel_client::core::strategy::{
    Cursor, Descriptor, Inputs, Members, Params, Place, Strategy, Table, Traits, Value,
};
use evenkeel_client::core::{Endpoint, Outcome};
use evenkeel_client::{Cluster, Settings};
use evenkeel_testkit::laws::{LAWS, Subject};

/// Draws a ticket: an endpoint of weight 3 has three times as many as one of weight 1.
#[derive(Debug)]
struct Lottery;

/// What is told of it, and by which traits the laws know what to ask of it.
static LOTTERY: Descriptor = Descriptor {
    name: "lottery",
    aliases: &[],
    summary: "by chance, by weight",
    advice: "An example.",
    cost: "O(n)",
    source: "this file",
    params: &[],
    traits: Traits {
        weighted: true,
        ..Traits::NONE
    },
    build: |_: &Params| Arc::new(Lottery),
};

impl Strategy for Lottery {
    fn descriptor(&self) -> &'static Descriptor {
        &LOTTERY
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    // Once for each generation of the cluster, off the path of calls.
    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        let ticket = |index: &u32| (*index, u64::from(members.weight(*index)));
        Box::new(Tickets(members.eligible().iter().map(ticket).collect()))
    }
}

#[derive(Debug)]
struct Tickets(Vec<(u32, u64)>);

impl Table for Tickets {
    fn cursor(&self, _: Place) -> Cursor {
        Cursor::Cycle(Place::new(0, self.0.len() as u64))
    }

    // Once for each decision, and again when the one that was proposed refuses. Chance comes from `inputs`, so that the
    // decision can be made again from its receipt.
    fn choose(&self, _: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let open = |(index, _): &&(u32, u64)| !inputs.is_refused(*index);
        let all: u64 = self.0.iter().filter(open).map(|(_, tickets)| tickets).sum();
        if all == 0 {
            return None;
        }
        let (mut drawn, _) = inputs.draw(all);
        for (index, tickets) in &self.0 {
            if inputs.is_refused(*index) {
                continue;
            }
            match drawn.checked_sub(*tickets) {
                Some(left) => drawn = left,
                None => return Some(*index),
            }
        }
        None
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subject = Subject::new(Arc::new(Lottery));
    for law in LAWS {
        match (law.exempt)(subject.traits()) {
            Some(why) => println!("{}: says nothing here, {why}", law.name),
            None => {
                law.check(&subject)
                    .map_err(|broken| format!("{}: {broken}", law.name))?;
                println!("{}: holds", law.name);
            }
        }
    }

    let endpoints = [("a", 1), ("b", 3)]
        .map(|(id, weight)| Endpoint::new(id, "10.0.0.1:80").with_weight(weight));
    let settings = Settings::new("lottery").own_strategy(Arc::new(Lottery));
    let cluster = Cluster::new(settings, endpoints, |_: &Endpoint| ())?;
    for _ in 0..4_000 {
        cluster.tries().next()?.finish(Outcome::Success);
    }
    for endpoint in cluster.stats().endpoints {
        println!(
            "{} got {}",
            endpoint.endpoint.id(),
            endpoint.calls.successes
        );
    }
    Ok(())
}
