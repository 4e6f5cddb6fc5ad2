//! The connection of a check, or of a notification: plain or secured. It moves between threads as checks do, which the
//! connections of workers do not, and nothing of it is quick: each carries one request.

use std::io::{self, Read as _, Write as _};

use rustls::ClientConnection;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::cluster::Place;

/// How much is read at once.
const READ: usize = 8 << 10;

/// What bytes go over.
pub(crate) trait Below: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Below for T {}

/// Opens a connection, for as long as it takes.
pub(crate) async fn open(place: &Place) -> io::Result<Box<dyn Below>> {
    match place {
        Place::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Place::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
    }
}

/// The connection of a check.
pub(crate) enum Wire {
    Plain(Box<dyn Below>),
    Tls(Box<dyn Below>, Box<ClientConnection>),
}

impl Wire {
    /// Sends bytes, behind the handshake if there is one.
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(below) => below.write_all(bytes).await,
            Self::Tls(below, tls) => {
                tls.writer().write_all(bytes)?;
                while tls.is_handshaking() {
                    flush(below, tls).await?;
                    if tls.is_handshaking() && fill(below, tls).await? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                flush(below, tls).await
            }
        }
    }

    /// Appends what comes next, and says how much it was; 0 at the end.
    pub(super) async fn read_more(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(below) => {
                bytes.reserve(READ);
                below.read_buf(bytes).await
            }
            Self::Tls(below, tls) => loop {
                let mut chunk = [0; READ];
                match tls.reader().read(&mut chunk) {
                    Ok(count) => {
                        bytes.extend_from_slice(&chunk[..count]);
                        return Ok(count);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if fill(below, tls).await? == 0 {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                    Err(error) => return Err(error),
                }
            },
        }
    }
}

async fn flush(below: &mut Box<dyn Below>, tls: &mut ClientConnection) -> io::Result<()> {
    while tls.wants_write() {
        let mut out = Vec::new();
        tls.write_tls(&mut out)?;
        below.write_all(&out).await?;
    }
    Ok(())
}

/// Takes in some of what came; 0 at its end.
async fn fill(below: &mut Box<dyn Below>, tls: &mut ClientConnection) -> io::Result<usize> {
    let mut chunk = [0; READ];
    let count = below.read(&mut chunk).await?;
    let mut rest = &chunk[..count];
    while !rest.is_empty() {
        tls.read_tls(&mut rest)?;
        let processed = tls.process_new_packets();
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
    flush(below, tls).await?;
    Ok(count)
}
