//! A caller that blocks: no runtime, no service, a choice and a socket.
//!
//! `cargo run --example blocking -- 127.0.0.1:9001 127.0.0.1:9002`

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use evenkeel_client::{Cluster, Settings, core::Endpoint, core::Outcome};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    let endpoints = addresses
        .iter()
        .map(|at| Endpoint::new(at.as_str(), at.as_str()));
    let cluster = Cluster::new(Settings::new("users"), endpoints, |_: &Endpoint| ())?;

    for user in 0..20 {
        let mut tries = cluster.tries();
        let answer = loop {
            let at = tries.next()?;
            match get(at.endpoint().address(), &format!("/users/{user}")) {
                Ok(answer) => {
                    at.finish(Outcome::Success);
                    break answer;
                }
                // The next one is another endpoint, or the reason why there is none.
                Err(_) => at.finish(Outcome::Failure),
            }
        };
        println!("{answer}");
    }
    Ok(())
}

/// The first line of an answer and its body, by a connection for this request alone.
fn get(address: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = BufReader::new(stream);
    let (mut status, mut length) = (String::new(), 0);
    answer.read_line(&mut status)?;
    loop {
        let mut field = String::new();
        if answer.read_line(&mut field)? <= 2 {
            break;
        }
        let field = field.to_ascii_lowercase();
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body)?;
    Ok(format!(
        "{} {}",
        status.trim_end(),
        String::from_utf8_lossy(&body)
    ))
}
