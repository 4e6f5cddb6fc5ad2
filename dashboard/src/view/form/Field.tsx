import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

interface Properties {
  name: string;
  value: Signal<string>;
  hint?: string;
  placeholder?: string;
  required?: boolean;
  numeric?: boolean;
}

/** A line of a form. */
export function Field({ name, value, hint, placeholder, required = false, numeric = false }: Properties) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <input
        id={id}
        value={value.value}
        placeholder={placeholder}
        required={required}
        inputMode={numeric ? "numeric" : undefined}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}
