import { useSignal } from "@preact/signals";
import { giveToken, token } from "../../state/token";
import { Field } from "./Field";

/** Asks for the token of the admin API. */
export function TokenForm() {
  const text = useSignal("");
  const isWrong = token.value !== "";
  return (
    <form
      class="form token"
      onSubmit={(event) => {
        event.preventDefault();
        giveToken(text.value.trim());
      }}
    >
      <h1>This gateway wants a token</h1>
      <Field name="token" value={text} required hint="What stands in admin.token_file. It is kept until the tab is closed." />
      {isWrong && (
        <p class="bad" role="alert">
          The last one was not the right one.
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="main">
          Open
        </button>
      </div>
    </form>
  );
}
