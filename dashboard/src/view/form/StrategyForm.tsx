import { type Signal, signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { setStrategy } from "../../state/changes";
import { details } from "../../state/details";
import { clusterName } from "../../state/live";
import { strategies } from "../../state/strategies";
import { Field } from "./Field";
import { Form } from "./Form";

/** Gives the cluster another strategy, or this one other parameters. */
export function StrategyForm() {
  const before = details.value?.strategy ?? { name: "" };
  const name = useSignal(before.name);
  // A signal for each parameter that was shown, so that going back and forth loses nothing.
  const texts = useRef(new Map<string, Signal<string>>());
  const chosen = strategies.value.find((one) => one.name === name.value);
  const choose = (wanted: string) => (name.value = wanted);
  const textOf = (param: string): Signal<string> => {
    const key = `${name.value} ${param}`;
    const known = texts.current.get(key);
    if (known) return known;
    const given = name.value === before.name ? before[param] : undefined;
    const made = signal(given === undefined || given === null ? "" : String(given));
    texts.current.set(key, made);
    return made;
  };
  const submit = () => {
    const given = (chosen?.params ?? []).filter((one) => textOf(one.name).value);
    const params = Object.fromEntries(given.map((one) => [one.name, asValue(textOf(one.name).value)]));
    return setStrategy(clusterName.value, before, { ...params, name: name.value });
  };
  return (
    <Form title={`How ${clusterName.value} chooses`} verb="Switch" submit={submit}>
      <div class="field">
        <label for="strategy">strategy</label>
        <select id="strategy" aria-describedby="strategy-hint" value={name.value} onChange={(event) => choose(event.currentTarget.value)}>
          {strategies.value.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
        <small id="strategy-hint">{chosen?.summary}</small>
      </div>
      {chosen?.params.map((param) => (
        <Field
          key={`${chosen.name} ${param.name}`}
          name={param.name}
          value={textOf(param.name)}
          placeholder={param.default ?? "absent"}
          hint={`${param.doc} (${param.values})`}
        />
      ))}
      <p>{chosen?.advice}</p>
      <p class="quiet">New requests are decided by it at once; those in flight finish where they are.</p>
    </Form>
  );
}

/** Numbers and truth values as such, anything else as text: what is wrong, the gateway says. */
function asValue(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
