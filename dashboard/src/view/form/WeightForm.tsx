import { useSignal } from "@preact/signals";
import type { Endpoint } from "../../api/types";
import { percent } from "../../format";
import { setWeight } from "../../state/changes";
import { cluster, clusterName } from "../../state/live";
import { Field } from "./Field";
import { Form } from "./Form";

/** Gives an endpoint another weight. */
export function WeightForm({ endpoint }: { endpoint: Endpoint }) {
  const weight = useSignal(String(endpoint.weight));
  const others = (cluster.value?.endpoints ?? []).filter((one) => one.id !== endpoint.id);
  const rest = others.reduce((sum, one) => sum + one.weight, 0);
  const next = Number(weight.value);
  const share = (value: number) => percent(value / (value + rest || 1));
  return (
    <Form title={`Weight of ${endpoint.id}`} verb="Set weight" submit={() => setWeight(clusterName.value, endpoint, next)}>
      <Field name="weight" value={weight} required numeric hint="A whole number from 0 to 65535; only ratios count." />
      <p>
        By weight it is due {share(endpoint.weight)} of the requests, and would be due{" "}
        <strong>{Number.isFinite(next) && next >= 0 ? share(next) : "–"}</strong>.
      </p>
    </Form>
  );
}
