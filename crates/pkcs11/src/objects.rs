//! Objects of a token: what programs find, and whose attributes they read.

use std::collections::HashMap;
use std::sync::Arc;

use cryptoki_sys::*;

use crate::key::Key;

/// An object with all its attributes.
pub(crate) struct Object {
    /// The handle, without the number of a login.
    pub(crate) handle: CK_OBJECT_HANDLE,
    pub(crate) class: CK_OBJECT_CLASS,
    pub(crate) attributes: Attributes,
    /// The key, unless the object is a certificate.
    pub(crate) key: Option<Arc<Key>>,
}

/// What a program may see of a token.
#[derive(Clone, Copy)]
pub(crate) struct Sight {
    /// Whether private objects are seen.
    pub(crate) is_private: bool,
    /// How often the user was logged out. The handles of private objects contain it: none survives its login.
    pub(crate) logouts: u64,
}

/// Attributes of an object, in the order of their types.
#[derive(Default)]
pub(crate) struct Attributes {
    known: Vec<(CK_ATTRIBUTE_TYPE, Box<[u8]>)>,
    /// The attributes that the object has and does not show.
    pub(crate) sensitive: &'static [CK_ATTRIBUTE_TYPE],
}

/// An attribute that a program asks for.
pub(crate) enum Shown<'a> {
    Value(&'a [u8]),
    Sensitive,
    Unknown,
}

/// The objects of a token, as they were when it was last read.
#[derive(Default)]
pub(crate) struct Objects {
    all: Vec<Object>,
    places: HashMap<CK_OBJECT_HANDLE, usize>,
}

impl Attributes {
    pub(crate) fn bytes(
        &mut self,
        kind: CK_ATTRIBUTE_TYPE,
        value: impl Into<Vec<u8>>,
    ) -> &mut Self {
        self.known.push((kind, value.into().into_boxed_slice()));
        self
    }

    pub(crate) fn number(&mut self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> &mut Self {
        self.bytes(kind, value.to_ne_bytes())
    }

    pub(crate) fn truth(&mut self, kind: CK_ATTRIBUTE_TYPE, value: bool) -> &mut Self {
        self.bytes(kind, [if value { CK_TRUE } else { CK_FALSE }])
    }

    pub(crate) fn sort(&mut self) {
        self.known.sort_by_key(|(kind, _)| *kind);
    }

    pub(crate) fn get(&self, kind: CK_ATTRIBUTE_TYPE) -> Shown<'_> {
        match self.known.binary_search_by_key(&kind, |(kind, _)| *kind) {
            Ok(place) => Shown::Value(&self.known[place].1),
            Err(_) if self.sensitive.contains(&kind) => Shown::Sensitive,
            Err(_) => Shown::Unknown,
        }
    }
}

impl Object {
    fn is_private(&self) -> bool {
        matches!(self.attributes.get(CKA_PRIVATE), Shown::Value([value]) if *value != CK_FALSE)
    }

    /// Returns the handle by which a program knows the object, if it may see it.
    fn handle_in(&self, sight: Sight) -> Option<CK_OBJECT_HANDLE> {
        match self.is_private() {
            false => Some(self.handle),
            true if sight.is_private => {
                Some(self.handle | ((sight.logouts << OBJECT_BITS) & LOGOUTS))
            }
            true => None,
        }
    }

    fn fits(&self, template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> bool {
        let fits = |(kind, wanted): &(CK_ATTRIBUTE_TYPE, &[u8])| matches!(self.attributes.get(*kind), Shown::Value(value) if value == *wanted);
        template.iter().all(fits)
    }
}

impl Objects {
    pub(crate) fn new(all: Vec<Object>) -> Self {
        let places = all.iter().enumerate();
        let places = places.map(|(place, object)| (object.handle, place));
        Self {
            places: places.collect(),
            all,
        }
    }

    /// Returns an object; those that are private only if the user may see them, and if the handle is of this login.
    pub(crate) fn get(&self, handle: CK_OBJECT_HANDLE, sight: Sight) -> Option<&Object> {
        let object = self.all.get(*self.places.get(&(handle & !LOGOUTS))?)?;
        (object.handle_in(sight) == Some(handle)).then_some(object)
    }

    /// Returns the handles of the objects that a template fits.
    pub(crate) fn find(
        &self,
        template: &[(CK_ATTRIBUTE_TYPE, &[u8])],
        sight: Sight,
    ) -> Vec<CK_OBJECT_HANDLE> {
        let found = self.all.iter().filter(|object| object.fits(template));
        found.filter_map(|object| object.handle_in(sight)).collect()
    }
}

/// The bits of a handle that have the number of logouts, above those of the object and below those of the slot. The number
/// repeats after 16 million logouts.
const LOGOUTS: CK_OBJECT_HANDLE = ((1 << LOGOUT_BITS) - 1) << OBJECT_BITS;
const LOGOUT_BITS: u32 = 24;
/// The lowest bits of a handle tell the objects of a token apart.
const OBJECT_BITS: u32 = 28;
/// The slot is above these bits of a handle, so that no token knows the handles of another.
pub(crate) const HANDLE_BITS: u32 = LOGOUT_BITS + OBJECT_BITS;
