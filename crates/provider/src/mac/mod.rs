//! Message authentication (provider-mac(7)).
//!
//! libssl also binds a resumed session with an EVP_PKEY of HMAC: the default provider's signature fetches this HMAC.

mod hmac;

use crate::default_provider::Defaults;
use crate::offered::Offered;

/// Adds the algorithms that are offered.
pub(crate) fn offer(defaults: &Defaults, offered: &mut Offered) {
    hmac::offer(defaults, offered);
}
