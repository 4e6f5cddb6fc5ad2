//! What the sources claim, and what holds here.

use evenkeel_sim::Claim;

use crate::paragraph::wrap;

pub(crate) fn claims_text(claims: &[Claim]) -> String {
    let mut text = String::new();
    for claim in claims {
        let (what, theirs, ours) = (&claim.what, &claim.theirs, &claim.ours);
        let verdict = match claim.holds {
            true => "holds",
            false => "does not hold",
        };
        text.push('\n');
        text.push_str(&wrap(&format!("Claim: {what}"), ""));
        text.push_str(&format!(
            "  the sources: {theirs}\n  here:        {ours}\n  {verdict}\n"
        ));
    }
    text
}
