//! How a fetcher behaves: offline or not, patience, proxy, credentials.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Settings of a [`super::Fetcher`]; the default is what people get. Not `Debug`: a proxy's
/// address may hold a password.
#[derive(Clone)]
pub struct FetchOptions {
    /// Never use the network.
    pub offline: bool,
    /// Tries per mirror, the first included. Tries that brought the file further do not count.
    pub tries: u32,
    /// The wait before the second try; each further wait is twice as long, and up to a quarter
    /// longer by chance so that many machines do not return at the same instant.
    pub first_delay: Duration,
    /// The longest wait a server may ask for with `Retry-After`.
    pub longest_wait: Duration,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long nothing at all may arrive. There is no limit to the whole download.
    pub stall_timeout: Duration,
    /// Which proxy is used.
    pub proxy: ProxyChoice,
    /// Where credentials come from.
    pub credentials: Credentials,
    /// Downloads at the same time.
    pub parallel: usize,
    /// Set from elsewhere (Ctrl-C), it ends all downloads soon; partial files stay.
    pub cancel: Arc<AtomicBool>,
}

/// Which proxy is used.
#[derive(Clone)]
pub enum ProxyChoice {
    /// `http_proxy`, `https_proxy`, `ALL_PROXY`, `NO_PROXY`; on Windows also the system's setting.
    System,
    /// None, whatever the environment says.
    Direct,
    /// This one for everything.
    Url(String),
}

/// Where credentials come from.
#[derive(Clone)]
pub enum Credentials {
    /// The file `NETRC` names, else `.netrc` (on Windows also `_netrc`) in the home directory.
    System,
    /// Nowhere.
    Nowhere,
    /// This netrc file.
    Netrc(PathBuf),
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            offline: false,
            tries: 5,
            first_delay: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
            proxy: ProxyChoice::System,
            credentials: Credentials::System,
            parallel: 4,
            cancel: Arc::default(),
        }
    }
}

impl FetchOptions {
    pub(super) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Sleeps; false if cancelled meanwhile.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        const SLICE: Duration = Duration::from_millis(50);
        let mut left = time;
        while !left.is_zero() && !self.cancelled() {
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        !self.cancelled()
    }
}
