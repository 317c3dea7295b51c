//! The options of an identity that stays on a cryptoserver.

use oarlock_net::client::RemoteIdentity;

use crate::failure::Failure;
use crate::output::Needed;
use crate::remote::Access;

#[derive(clap::Args)]
pub(super) struct Remote {
    /// Decrypt with a key of this server, as host:port; repeat for several servers that have it
    #[arg(long, value_name = "SERVER", requires = "key")]
    remote: Vec<String>,

    /// Id of the key there
    #[arg(long, value_name = "ID", requires = "remote")]
    key: Option<String>,

    #[command(flatten)]
    access: Access,
}

impl Remote {
    /// Returns the files that the options name.
    pub(super) fn needed(&self) -> Vec<Needed> {
        self.access.needed()
    }

    /// Connects to the servers, if any are named.
    pub(super) fn identity(&self) -> Result<Option<RemoteIdentity>, Failure> {
        let Some(key) = &self.key else {
            self.access.check_alone()?;
            return Ok(None);
        };
        let device = self.access.connect(&self.remote)?;
        Ok(Some(RemoteIdentity::new(device, key.as_str())))
    }
}
