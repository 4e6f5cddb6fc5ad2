//! Times what the codec costs for one small exchange. Run it with `--release`, on a quiet machine.
//!
//! It prints the median over rounds, in nanoseconds: reading and forwarding a browser's request
//! head of 12 fields, the same for a response head, and a chunk through decoder and encoder.

use std::hint::black_box;
use std::time::Duration;

use evenkeel_http1::{
    Asked, BodyDecoder, BodyEncoder, Encoding, Forward, Framing, Limits, Reply, RequestHead,
    ResponseHead, Slots,
};

const REQUEST: &[u8] = b"GET /catalogue/items/8731?page=2&sort=price HTTP/1.1\r\n\
Host: shop.example.org\r\n\
Connection: keep-alive\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
Chrome/126.0.0.0 Safari/537.36\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n\
Cache-Control: max-age=0\r\n\
Cookie: session=4f1c9a7be20d4f6e; theme=dark; consent=analytics\r\n\
Referer: https://shop.example.org/catalogue\r\n\
Sec-Fetch-Dest: document\r\n\
Sec-Fetch-Mode: navigate\r\n\
Sec-Fetch-Site: same-origin\r\n\r\n";

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\n\
Server: origin/1.2\r\n\
Date: Tue, 03 Nov 2026 10:00:00 GMT\r\n\
Content-Type: text/html; charset=utf-8\r\n\
Content-Length: 512\r\n\
Cache-Control: private, max-age=60\r\n\
ETag: \"5f2a-61\"\r\n\
Vary: Accept-Encoding\r\n\
Connection: keep-alive\r\n\r\n";

const ROUNDS: usize = 51;
const ROUND: u32 = 20_000;

fn main() {
    println!(
        "request head   {} bytes {:>7.1} ns",
        REQUEST.len(),
        median(request)
    );
    println!("  parse only              {:>7.1} ns", median(parse_only));
    println!(
        "response head  {} bytes {:>7.1} ns",
        RESPONSE.len(),
        median(response)
    );
    println!("chunk of 1 KiB            {:>7.1} ns", median(chunk));
}

fn parse_only(_: &mut Vec<u8>) {
    let mut slots = Slots::new();
    let head = RequestHead::parse(black_box(REQUEST), &Limits::default(), &mut slots);
    let _ = black_box(head.expect("well-formed").expect("complete"));
}

fn request(out: &mut Vec<u8>) {
    let mut slots = Slots::new();
    let head = RequestHead::parse(black_box(REQUEST), &Limits::default(), &mut slots);
    let head = head.expect("well-formed").expect("complete");
    let via = Forward {
        client: "192.0.2.7",
        proto: "https",
        request_id: "0192f3a4c5d6e7f8",
        fallback_host: "10.0.0.1:80",
        ..Forward::default()
    };
    head.forward(&via, out);
}

fn response(out: &mut Vec<u8>) {
    let mut slots = Slots::new();
    let asked = Asked::default();
    let head = ResponseHead::parse(black_box(RESPONSE), &Limits::default(), &mut slots, asked);
    let head = head.expect("well-formed").expect("complete");
    let to = Reply {
        keep_alive: true,
        request_id: "0192f3a4c5d6e7f8",
        ..Reply::default()
    };
    black_box(head.forward(&to, out));
}

fn chunk(out: &mut Vec<u8>) {
    let mut input = [b'x'; 5 + 1024 + 7];
    input[..5].copy_from_slice(b"400\r\n");
    input[5 + 1024..].copy_from_slice(b"\r\n0\r\n\r\n");
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    let piece = decoder.decode(black_box(&input)).expect("well-formed");
    let encoder = BodyEncoder::new(Encoding::Chunked);
    encoder.data(&input[piece.data], out);
    encoder.finish(decoder.trailers(), out);
}

/// The median time of one call over all rounds, in nanoseconds.
fn median(work: impl Fn(&mut Vec<u8>)) -> f64 {
    let mut out = Vec::with_capacity(4096);
    let mut rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = now();
            for _ in 0..ROUND {
                out.clear();
                work(black_box(&mut out));
            }
            (now() - start).as_secs_f64() * 1e9 / f64::from(ROUND)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// The one clock of this program.
fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "a timing program has to read a clock"
    )]
    let now = Instant::now();
    now - *START.get_or_init(|| now)
}
