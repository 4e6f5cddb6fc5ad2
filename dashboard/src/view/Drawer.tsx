import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Properties {
  title: string;
  /** A panel at the edge, or a box in the middle. */
  kind: "edge" | "box";
  close: () => void;
  children: ComponentChildren;
}

/** Lies over the page, holds the focus, and closes by Escape, its button, or a click beside it. */
export function Drawer({ title, kind, close, children }: Properties) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus?.({ preventScroll: true });
  }, []);
  return (
    <dialog
      ref={element}
      class={kind}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === element.current && close()}
    >
      <div class="inside">
        <div class="drawer-head">
          <h2>{title}</h2>
          <button type="button" aria-label="Close" class="plain" onClick={close}>
            ✕
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
