import { word } from "../format";
import { details } from "../state/details";
import { dialog } from "../state/dialog";
import { cluster } from "../state/live";

/** Which strategy chooses, and how the endpoints stand, in words. */
export function ClusterHead() {
  const now = cluster.value;
  if (!now) return null;
  const params = Object.entries(details.value?.strategy ?? {}).filter(([name]) => name !== "name");
  return (
    <div class="head">
      <h1>{now.name}</h1>
      <p>
        chooses by <strong>{now.strategy}</strong>
        <span class="quiet"> {params.map(([name, value]) => `${name} ${value}`).join(", ")}</span>
      </p>
      <button type="button" onClick={() => (dialog.value = { kind: "strategy" })}>
        Switch…
      </button>
      <p class="standing">{standing(now.endpoints.map((one) => one.state))}</p>
      {now.panic && (
        <p class="bad" role="alert">
          ▲ panic: so few endpoints are healthy that all of them are used
        </p>
      )}
    </div>
  );
}

function standing(states: string[]): string {
  const counts = new Map<string, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  const parts = [...counts].sort(([, a], [, b]) => b - a).map(([state, number]) => `${number} ${word(state)}`);
  return `${states.length} endpoints: ${parts.join(", ") || "none"}`;
}
