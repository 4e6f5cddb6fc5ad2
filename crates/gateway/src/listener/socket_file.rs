//! The file of a unix socket: made when it is bound, taken away at the end, and a stale one of a
//! process that died replaced.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

/// The file of a socket that is ours.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: Arc<Path>,
    /// What tells our file from one that somebody else put in its place.
    identity: (u64, u64),
    /// Keeps the system from giving the number of our file to that one.
    _hold: Option<File>,
}

impl SocketFile {
    /// Binds `count` holds on one socket of that path.
    ///
    /// A socket on which nobody answers is what a process left that was killed; it is replaced. One
    /// on which somebody does, or a file that is no socket, is left alone.
    ///
    /// # Errors
    ///
    /// When the path is taken, or the system does not let us bind it.
    pub(super) fn bind(path: &Arc<Path>, count: usize) -> io::Result<(Self, Vec<UnixListener>)> {
        make_way(path)?;
        let first = UnixListener::bind(path)?;
        first.set_nonblocking(true)?;
        let file = Self::adopt(path)?;
        let more = (1..count).map(|_| first.try_clone());
        let mut sockets = more.collect::<io::Result<Vec<UnixListener>>>()?;
        sockets.push(first);
        Ok((file, sockets))
    }

    /// Takes over the file of a socket that another process bound.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub(super) fn adopt(path: &Arc<Path>) -> io::Result<Self> {
        Ok(Self {
            path: Arc::clone(path),
            identity: identity(path)?,
            _hold: hold(path),
        })
    }

    /// Takes the file away, unless it is not ours any more.
    pub(crate) fn remove(&self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the socket");
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Holds on to a file without opening the socket in it. A number of a file that is gone is soon used
/// again, often for the next one.
#[cfg(target_os = "linux")]
fn hold(path: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;

    /// The same for all architectures that this is built for; open(2).
    const O_PATH: i32 = 0o10_000_000;
    let mut options = File::options();
    options.read(true).custom_flags(O_PATH).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn hold(_: &Path) -> Option<File> {
    None
}

/// Removes a socket on which nobody answers.
fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        let what = "there is a file that is no socket";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A full queue is a sign of life too.
        _ => {
            let what = "another process listens on it";
            Err(io::Error::new(io::ErrorKind::AddrInUse, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path in a folder of the test's own, gone with it.
    struct Place(Arc<Path>);

    impl Place {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).expect("a folder");
            Self(folder.join("x.sock").into())
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = self.0.parent().map(fs::remove_dir_all);
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let place = Place::new("stale");
        let (file, sockets) = SocketFile::bind(&place.0, 2).expect("a free path");
        assert_eq!(sockets.len(), 2);
        let busy = SocketFile::bind(&place.0, 1).expect_err("it is alive");
        assert_eq!(busy.kind(), io::ErrorKind::AddrInUse);
        drop(sockets);
        let (second, alive) = SocketFile::bind(&place.0, 1).expect("nobody answers");
        // The first one's file is gone, and the second's is not the first's to remove.
        file.remove();
        assert!(place.0.exists());
        drop(alive);
        second.remove();
        assert!(!place.0.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let place = Place::new("file");
        fs::write(&place.0, "precious").expect("a file");
        let error = SocketFile::bind(&place.0, 1).expect_err("not a socket");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&place.0).expect("the file"), b"precious");
    }
}
