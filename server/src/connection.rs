//! [`Connection`]: a connection. [`accept`] limits how many exist at a time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::channel::oneshot::Receiver;
use futures::future::{FusedFuture as _, FutureExt as _, Shared};
use futures::stream::{self, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

/// The time in which a client must send [`PREFACE`] bytes, over HTTP/1.1 too. After that, keepalive
/// finds silent clients of HTTP/2, and [`http`](crate::http) has limits of its own.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of bytes with which every HTTP/2 connection begins.
const PREFACE: usize = 24;

/// The pause after a failure to accept a connection, such as too many open files. Without it, the
/// server would try again at once, and use a whole CPU.
const PAUSE: Duration = Duration::from_millis(100);

/// The time in which a client can receive the rest of the responses after the server has sent its
/// last byte.
const LINGER: Duration = Duration::from_secs(5);

/// Ends all connections when its sender is dropped.
pub(crate) type Cut = Shared<Receiver<()>>;

/// A connection. While it exists, it counts as one of the limited number.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// Ends the connection, unless the preface arrives before.
    silence: Option<Pin<Box<Sleep>>>,
    n_read: usize,
    /// Ends the connection after the last byte was sent.
    linger: Option<Pin<Box<Sleep>>>,
    cut: Cut,
    _permit: OwnedSemaphorePermit,
}

/// Returns the connections of a listener, at most `limit` at a time. Further clients wait in the
/// queue of the system. The connections end with `cut`.
pub(crate) fn accept(
    listener: TcpListener,
    limit: usize,
    cut: Cut,
) -> impl Stream<Item = io::Result<Connection>> {
    let permits = Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)));
    stream::unfold((listener, permits, cut), async |(listener, permits, cut)| {
        let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
        let mut is_failing = false;
        let stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    // One message for all failures in a row.
                    if !is_failing {
                        tracing::warn!(%error, "failed to accept a connection");
                    }
                    is_failing = true;
                    sleep(PAUSE).await;
                }
            }
        };
        // Small responses must not wait for each other. If this fails, the connection is broken,
        // and reading fails too.
        _ = stream.set_nodelay(true);
        let silence = Some(Box::pin(sleep(PATIENCE)));
        let connection = Connection {
            stream,
            silence,
            n_read: 0,
            linger: None,
            cut: cut.clone(),
            _permit: permit,
        };
        Some((Ok(connection), (listener, permits, cut)))
    })
}

impl Connection {
    /// Returns an error after the cut. Every poll checks it: after its last response, the HTTP
    /// library no longer reads.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        // A shared future panics if it is polled after its end.
        if self.cut.is_terminated() || self.cut.poll_unpin(context).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(silence) = &mut self.silence else { return read };
        if read.is_pending() {
            ready!(silence.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.n_read += buffer.filled().len() - before;
        if self.n_read >= PREFACE {
            self.silence = None;
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        // If the socket was closed while the client still sends, such as the sizes of its windows,
        // the system would reset the connection, and the client would lose what it has not yet
        // read.
        let Self { stream, linger, .. } = &mut *self;
        let linger = linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let mut discarded = [0; 4096];
        while linger.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => break,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::oneshot;
    use futures::{StreamExt as _, pin_mut};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn everything_fails_at_once_after_the_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (sender, cut) = oneshot::channel();
        let connections = accept(listener, usize::MAX, cut.shared());
        pin_mut!(connections);
        let mut connection = connections.next().await.unwrap().unwrap();
        drop(sender);
        // The second round polls a future that has ended.
        for _ in 0..2 {
            let ends = [
                connection.read(&mut [0]).await.map(drop),
                connection.write(&[0]).await.map(drop),
                connection.flush().await,
                timeout(LINGER / 2, connection.shutdown()).await.unwrap(),
            ];
            for end in ends {
                assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
            }
        }
        drop(client);
    }
}
