//! Everything at once: bodies of all sizes and framings, in pieces of all sizes, pipelined, on
//! connections that are kept or not. Whatever comes back must be what was sent, in its order.

use std::time::Duration;

use evenkeel_testkit::{Act, Answer, Gateway, RawClient, Received, Upstream, eventually};

use crate::{noise, together};

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Mostly small, sometimes around the size of a buffer, rarely larger.
    fn length(&mut self) -> usize {
        match self.below(10) {
            0 => 0,
            1..=5 => self.below(2000),
            6 => 16_384 - 300 + self.below(600),
            7 => 32_768 - 300 + self.below(600),
            8 => self.below(60_000),
            _ => self.below(300_000),
        }
    }

    /// Cuts bytes into pieces of any size.
    fn cut<'b>(&mut self, bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let most = 1 + [10_usize, 1000, 20_000, 400_000][self.below(4)];
        // Not too many of them.
        let least = 1 + bytes.len() / 50;
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((least + self.below(most)).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces
    }

    fn chunks(&mut self, body: &[u8], out: &mut Vec<u8>) {
        for piece in self.cut(body) {
            let extension = [";a=b", "", "", ""][self.below(4)];
            out.extend_from_slice(format!("{:x}{extension}\r\n", piece.len()).as_bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice([&b"0\r\n\r\n"[..], b"0\r\nX-Sum: 1\r\n\r\n"][self.below(2)]);
    }
}

/// A request whose path says how its answer is to be made.
fn request(dice: &mut Dice, body: &[u8]) -> Vec<u8> {
    let seed = dice.below(1 << 30);
    let method = ["POST", "PUT"][dice.below(2)];
    let mut bytes = format!("{method} /{seed} HTTP/1.1\r\nHost: a\r\n").into_bytes();
    if dice.below(2) == 0 {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(body);
    } else {
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        dice.chunks(body, &mut bytes);
    }
    bytes
}

/// The request's body, framed and cut as its path says.
fn answer(request: &Received) -> Answer {
    let seed = request.target()[1..].parse().expect("a seed");
    let (mut dice, body) = (Dice(seed), &request.body);
    let mut bytes =
        [&b""[..], b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"][dice.below(2)].to_vec();
    let framing = dice.below(5);
    match framing {
        0 | 1 => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(body);
        }
        2 | 3 => {
            bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            dice.chunks(body, &mut bytes);
        }
        _ => {
            bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n");
            bytes.extend_from_slice(body);
        }
    }
    let mut answer = Answer::new();
    for piece in dice.cut(&bytes) {
        answer = answer.send(piece);
        if dice.below(4) == 0 {
            answer = answer.wait(Duration::from_micros(300));
        }
    }
    if framing == 4 {
        answer.then(Act::Close)
    } else {
        answer
    }
}

#[test]
fn what_comes_back_is_what_was_sent() {
    let upstreams = [Upstream::answering(answer), Upstream::answering(answer)];
    let gateway = Gateway::over([upstreams[0].endpoint("a"), upstreams[1].endpoint("b")]);
    let (address, material) = (gateway.address(), noise(300_000));
    together(6, |thread| {
        let mut dice = Dice(thread as u64);
        for _ in 0..20 {
            let mut client = RawClient::connect(address);
            for _ in 0..6 {
                let bodies: Vec<&[u8]> = (0..1 + dice.below(4))
                    .map(|_| {
                        let length = dice.length();
                        &material[300_000 - length..]
                    })
                    .collect();
                let bytes: Vec<u8> = bodies
                    .iter()
                    .flat_map(|body| request(&mut dice, body))
                    .collect();
                for piece in dice.cut(&bytes) {
                    client.send(piece);
                }
                for body in bodies {
                    let response = client.response_to("POST");
                    assert_eq!(response.status, 200, "{response:?}");
                    assert!(response.is_whole && response.body == body, "{response:?}");
                }
            }
        }
    });
    gateway.assert_blameless();
}

/// The same with clients that leave anywhere, by a FIN or a RST: nothing stays in flight, no
/// endpoint is blamed, and who stays is served.
#[test]
fn d12_leaving_anywhere_leaves_nothing_behind() {
    let upstream = Upstream::answering(answer);
    let gateway = Gateway::single(&upstream);
    let (address, material) = (gateway.address(), noise(300_000));
    together(6, |thread| {
        let mut dice = Dice(100 + thread as u64);
        for _ in 0..60 {
            let mut client = RawClient::connect(address);
            let body = &material[..dice.length()];
            let bytes = request(&mut dice, body);
            let sent = match dice.below(3) {
                0 => dice.below(bytes.len()),
                _ => bytes.len(),
            };
            client.send(&bytes[..sent]);
            if sent == bytes.len() && dice.below(2) == 0 {
                client.hears_within(Duration::from_micros(dice.below(2000) as u64));
            }
            if dice.below(2) == 0 {
                client.reset();
            }
        }
    });
    gateway.assert_blameless();
    let listener = &gateway.control().listeners()[0];
    eventually("all connections end", || listener.connections() == 0);
    let totals = gateway.endpoint("a").totals;
    assert_eq!(
        totals.active_connections, 0,
        "those to the endpoint are idle or gone"
    );
    assert_eq!(
        crate::ask(
            address,
            "POST /7 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"
        )
        .text(),
        "ok"
    );
    eventually("connections to the endpoint are few", || {
        upstream.open_connections() <= 60
    });
}
