//! How keys are handled by the strategies that choose by key.

/// What is done with requests that have no key, under a strategy that chooses by key.
///
/// # Examples
///
/// ```
/// # use evenkeel_core::{Endpoint, Membership, Nanos, PickContext, Picker, PickerSeed, strategy::registry};
/// use evenkeel_core::{KeyPolicy, MissingKey, NoEndpoint};
///
/// let mut members = Membership::new("web", registry::build("maglev", &[])?);
/// members.upsert(Endpoint::new("a", "10.0.0.1:80"));
/// members.set_key_policy(KeyPolicy { missing: MissingKey::Error, ..KeyPolicy::default() });
/// let mut picker = Picker::new(PickerSeed { root: 7, picker: 0 });
/// let keyless = PickContext::at(Nanos(0));
/// assert_eq!(picker.pick(&members.snapshot(), &keyless).err(), Some(NoEndpoint::NoKey));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// They go to any endpoint, by weight.
    #[default]
    Random,
    /// They fail, with [`crate::NoEndpoint::NoKey`].
    Error,
}

/// How keys are handled by the strategies that choose by key.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{KeyPolicy, MissingKey};
///
/// let keys = KeyPolicy { missing: MissingKey::Error, bounded_load: Some(1.25) };
/// assert_eq!(KeyPolicy::default().missing, MissingKey::Random);
/// # let _ = keys;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KeyPolicy {
    /// What is done without a key.
    pub missing: MissingKey,
    /// How many times its share of the requests in flight an endpoint may have, above 1; none: no
    /// bound.
    pub bounded_load: Option<f64>,
}
