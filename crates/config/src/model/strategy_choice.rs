//! A strategy that is known to exist, with parameters that it is known to take.

use std::fmt;
use std::sync::Arc;

use evenkeel_core::strategy::registry::{self, BuildError};
use evenkeel_core::strategy::{Strategy, Value};

/// A strategy that is known to exist, with parameters that it is known to take.
#[derive(Clone)]
pub struct StrategyChoice {
    name: &'static str,
    params: Vec<(String, Value)>,
    strategy: Arc<dyn Strategy>,
}

impl StrategyChoice {
    /// The strategy of that name or alias, with these parameters.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not take one of the parameters.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_config::StrategyChoice;
    ///
    /// let choice = StrategyChoice::new("least_connections", &[])?;
    /// assert_eq!(choice.name(), "least_request");
    /// # Ok::<(), evenkeel_core::strategy::registry::BuildError>(())
    /// ```
    pub fn new(name: &str, params: &[(String, Value)]) -> Result<Self, BuildError> {
        registry::build(name, params).map(Self::from)
    }

    /// The name, never an alias.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The parameters in force, defaults among them, in the strategy's own order.
    #[must_use]
    pub fn params(&self) -> &[(String, Value)] {
        &self.params
    }

    /// Whether it chooses by key.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.strategy.descriptor().traits.keyed
    }

    /// Whether weights that follow load have an effect.
    #[must_use]
    pub fn follows_weights(&self) -> bool {
        let traits = self.strategy.descriptor().traits;
        traits.weighted && !traits.keyed
    }

    /// The strategy.
    #[must_use]
    pub fn build(&self) -> Arc<dyn Strategy> {
        Arc::clone(&self.strategy)
    }
}

impl From<Arc<dyn Strategy>> for StrategyChoice {
    fn from(strategy: Arc<dyn Strategy>) -> Self {
        let params = strategy.params().into_iter();
        Self {
            name: strategy.descriptor().name,
            params: params
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            strategy,
        }
    }
}

impl Default for StrategyChoice {
    fn default() -> Self {
        Self::new(registry::DEFAULT, &[]).expect("a test of the core: the default is registered")
    }
}

impl PartialEq for StrategyChoice {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.params == other.params
    }
}

impl fmt::Debug for StrategyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StrategyChoice")
            .field("name", &self.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
