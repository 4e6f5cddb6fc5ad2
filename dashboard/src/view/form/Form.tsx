import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { dialog } from "../../state/dialog";
import { Drawer } from "../Drawer";

interface Properties {
  title: string;
  /** What the button says that does it. */
  verb: string;
  submit: () => Promise<void>;
  children: ComponentChildren;
}

/** A form that says what will come of it, does it when that is confirmed, and stays when the gateway refuses. */
export function Form({ title, verb, submit, children }: Properties) {
  const refused = useSignal("");
  const isUnderWay = useSignal(false);
  const close = () => (dialog.value = null);
  const send = async (event: Event) => {
    event.preventDefault();
    isUnderWay.value = true;
    try {
      await submit();
      close();
    } catch (error) {
      refused.value = (error as Error).message;
    }
    isUnderWay.value = false;
  };
  return (
    <Drawer title={title} kind="box" close={close}>
      <form class="form" onSubmit={send}>
        {children}
        <p class="bad" role="alert">
          {refused.value}
        </p>
        <div class="buttons">
          <button type="submit" class="main" disabled={isUnderWay.value}>
            {verb}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Drawer>
  );
}
