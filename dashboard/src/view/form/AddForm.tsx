import { useSignal } from "@preact/signals";
import { addEndpoint, type NewEndpoint } from "../../state/changes";
import { clusterName } from "../../state/live";
import { Field } from "./Field";
import { Form } from "./Form";

/** Adds an endpoint; what is left empty is as the configuration would have it. */
export function AddForm() {
  const address = useSignal("");
  const id = useSignal("");
  const weight = useSignal("");
  const zone = useSignal("");
  const capacity = useSignal("");
  const submit = () => {
    const endpoint: NewEndpoint = { address: address.value.trim() };
    if (id.value) endpoint.id = id.value.trim();
    if (weight.value) endpoint.weight = Number(weight.value);
    if (zone.value) endpoint.zone = zone.value.trim();
    if (capacity.value) endpoint.capacity = Number(capacity.value);
    return addEndpoint(clusterName.value, endpoint);
  };
  return (
    <Form title={`Add an endpoint to ${clusterName.value}`} verb="Add" submit={submit}>
      <Field name="address" value={address} required placeholder="10.0.0.7:8080" hint="It takes requests at once." />
      <Field name="id" value={id} placeholder="its address" />
      <Field name="weight" value={weight} placeholder="1" numeric />
      <Field name="zone" value={zone} placeholder="none" />
      <Field name="capacity" value={capacity} placeholder="none" numeric hint="Requests in flight at most." />
    </Form>
  );
}
