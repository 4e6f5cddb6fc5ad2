import type { Endpoint } from "../../api/types";
import { percent } from "../../format";
import { setAdmin } from "../../state/changes";
import { cluster, clusterName } from "../../state/live";
import { rowOf } from "../../state/rows";
import { Form } from "./Form";

const TAKING = ["ready", "slow_start", "saturated"];

/** Takes an endpoint out of service, or back in. */
export function AdminForm({ endpoint, admin }: { endpoint: Endpoint; admin: Endpoint["admin"] }) {
  const verb = { enabled: "Enable", draining: "Drain", disabled: "Disable" }[admin];
  const others = cluster.value?.endpoints.filter((one) => one.id !== endpoint.id && TAKING.includes(one.state)) ?? [];
  return (
    <Form title={`${verb} ${endpoint.id}?`} verb={verb} submit={() => setAdmin(clusterName.value, endpoint, admin)}>
      <p>{consequence(endpoint, admin, others.length)}</p>
      {admin !== "enabled" && others.length === 0 && (
        <p class="bad">▲ No other endpoint takes requests: {clusterName.value} would answer with 503.</p>
      )}
    </Form>
  );
}

function consequence(endpoint: Endpoint, admin: Endpoint["admin"], others: number): string {
  if (admin === "enabled") return "It takes new requests again, by its weight and as its health allows.";
  const row = rowOf(endpoint.id);
  const share = row ? `, ${percent(row.share)} of all,` : "";
  const inFlight = row?.stats.in_flight ?? endpoint.in_flight;
  return `It takes no new requests from then on; the ${inFlight} in flight finish. What it gets now${share} goes to ${others} others.`;
}
