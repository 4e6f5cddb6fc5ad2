import type { Endpoint } from "../../api/types";
import { removeEndpoint } from "../../state/changes";
import { clusterName } from "../../state/live";
import { go, route } from "../../state/route";
import { Form } from "./Form";

/** Takes an endpoint out of the cluster. */
export function RemoveForm({ endpoint }: { endpoint: Endpoint }) {
  const submit = async () => {
    await removeEndpoint(clusterName.value, endpoint);
    if (route.value.endpoint === endpoint.id) go(clusterName.value);
  };
  return (
    <Form title={`Remove ${endpoint.id}?`} verb="Remove" submit={submit}>
      <p>
        {endpoint.id} ({endpoint.address}) leaves {clusterName.value}: no new request goes to it, and the {endpoint.in_flight} in
        flight finish. The configuration file is not changed; until the gateway ends, reloads leave it out too.
      </p>
    </Form>
  );
}
