//! Messages with secrets are wiped when they are dropped: those of requests that are refused or whose client has gone, and of
//! replies that are sent or never read.

use zeroize::Zeroize as _;

use super::{Crt, Item, Mac, MacOf, ModExp, Plaintext, Reply, Sign, item, reply};

impl Drop for ModExp {
    fn drop(&mut self) {
        for number in [&mut self.base, &mut self.exponent, &mut self.modulus] {
            number.zeroize();
        }
    }
}

impl Drop for Crt {
    fn drop(&mut self) {
        for number in [
            &mut self.p,
            &mut self.q,
            &mut self.dp,
            &mut self.dq,
            &mut self.qinv,
        ] {
            number.zeroize();
        }
    }
}

impl Drop for Sign {
    /// Wipes the message, which schemes without a hash function have in place of its digest.
    fn drop(&mut self) {
        self.digest.zeroize();
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        self.messages.zeroize();
    }
}

impl Drop for MacOf {
    fn drop(&mut self) {
        self.message.zeroize();
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.plaintext.zeroize();
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(reply::Outcome::Result(bytes)) = &mut self.outcome {
            bytes.zeroize();
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(item::Outcome::Result(bytes)) = &mut self.outcome {
            bytes.zeroize();
        }
    }
}
