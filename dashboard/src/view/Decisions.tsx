import { useSignal } from "@preact/signals";
import { decisions, decisionsRefused } from "../state/decisions";
import { clusterName } from "../state/live";
import { go } from "../state/route";
import { DecisionList } from "./DecisionList";
import { Explain } from "./Explain";

/** Who was chosen of late and why; the receipt of any request; where one would go now. */
export function Decisions() {
  const request = useSignal("");
  return (
    <section aria-label="Decisions" class="panel">
      <div class="bar-above">
        <h2>Decisions</h2>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (request.value) go(clusterName.value, "request", request.value.trim());
          }}
        >
          <input
            type="search"
            placeholder="x-request-id"
            aria-label="The receipt of a request, by its id"
            value={request.value}
            onInput={(event) => (request.value = event.currentTarget.value)}
          />
        </form>
      </div>
      <Explain of="" />
      <div class="scrolls" tabIndex={0} role="region" aria-label="Latest decisions">
        {decisionsRefused.value ? <p class="nothing">{decisionsRefused.value}</p> : <DecisionList decisions={decisions.value} />}
      </div>
    </section>
  );
}
