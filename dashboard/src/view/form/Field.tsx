import type { Signal } from "@preact/signals";

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
  return (
    <label class="field">
      <span>{name}</span>
      <input
        value={value.value}
        placeholder={placeholder}
        required={required}
        inputMode={numeric ? "numeric" : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {hint && <small>{hint}</small>}
    </label>
  );
}
