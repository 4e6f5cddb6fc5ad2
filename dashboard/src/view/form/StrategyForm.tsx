import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../../api/call";
import type { StrategyInfo } from "../../api/types";
import { setStrategy } from "../../state/changes";
import { details } from "../../state/details";
import { clusterName } from "../../state/live";
import { Form } from "./Form";

/** Gives the cluster another strategy, or this one other parameters. */
export function StrategyForm() {
  const before = details.value?.strategy ?? { name: "", params: {} };
  const all = useSignal<StrategyInfo[]>([]);
  const name = useSignal(before.name);
  const texts = useSignal<Record<string, string>>(asTexts(before.params));
  useEffect(() => {
    call<StrategyInfo[]>("GET", "/strategies").then((told) => (all.value = told), () => undefined);
  }, []);
  const chosen = all.value.find((one) => one.name === name.value);
  const choose = (wanted: string) => {
    name.value = wanted;
    texts.value = wanted === before.name ? asTexts(before.params) : {};
  };
  const submit = () => {
    const given = (chosen?.params ?? []).filter((one) => texts.value[one.name]);
    const params = Object.fromEntries(given.map((one) => [one.name, asValue(texts.value[one.name] ?? "")]));
    return setStrategy(clusterName.value, before, { name: name.value, params });
  };
  return (
    <Form title={`How ${clusterName.value} chooses`} verb="Switch" submit={submit}>
      <label class="field">
        <span>strategy</span>
        <select value={name.value} onChange={(event) => choose(event.currentTarget.value)}>
          {all.value.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
        <small>{chosen?.summary}</small>
      </label>
      {chosen?.params.map((param) => (
        <label class="field" key={param.name}>
          <span>{param.name}</span>
          <input
            value={texts.value[param.name] ?? ""}
            placeholder={param.default ?? "absent"}
            autocomplete="off"
            onInput={(event) => (texts.value = { ...texts.value, [param.name]: event.currentTarget.value })}
          />
          <small>
            {param.doc} ({param.values})
          </small>
        </label>
      ))}
      <p>{chosen?.advice}</p>
      <p class="quiet">New requests are decided by it at once; those in flight finish where they are.</p>
    </Form>
  );
}

function asTexts(params: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

/** Numbers and truth values as such, anything else as text: what is wrong, the gateway says. */
function asValue(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
