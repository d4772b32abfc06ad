//! Serves a file-based catalog to OLM, as `opm serve` does.
//!
//! A [`Server`] reads a catalog once. Its memory holds the names and the edges of the catalog; the
//! texts of the bundles are in a temporary file without a name, or in a cache.
//!
//! ```no_run
//! use unlade_server::{Options, Server};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::load("catalog".as_ref(), &Options::default())?;
//! let listener = tokio::net::TcpListener::bind("[::]:50051").await?;
//! server.serve(listener, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod bundle;
mod cache;
mod call;
mod catalogd;
mod codec;
mod connection;
mod content;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod health;
mod http;
mod index;
mod load;
pub mod message;
mod metas;
mod metrics;
mod opm;
mod server;
mod service;

pub use cache::CacheState;
pub use load::Error as LoadError;
pub use metas::Metas;
pub use opm::Error as OpmCacheError;
pub use server::{Listeners, Options, ServeError, Server};
