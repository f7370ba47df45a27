/** Small things that every page has: notes, dialogs, switches, empty states. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Empty({ title, children, level = 2 }: { title: string; children?: ComponentChildren; level?: 1 | 2 }) {
  return (
    <div class="empty">
      {level === 1 ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

export const Complaint = ({ text }: { text: string }) => (text ? <p class="complaint" role="alert">{text}</p> : null);

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} onClose={close} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** A part that scrolls by itself; those who use the keyboard get there and scroll it with the arrows. */
export const Scroll = ({ label, kind = "wide scroll", children }: { label: string; kind?: string; children: ComponentChildren }) => (
  <div class={kind} tabIndex={0} role="region" aria-label={label}>{children}</div>
);

/** Text as it would stand in a terminal; its lines do not wrap, so it scrolls as `Scroll` does. */
export const Typed = ({ label, text, kind = "" }: { label: string; text: string; kind?: string }) => (
  <pre class={kind} tabIndex={0} role="group" aria-label={label}>{text}</pre>
);

/** A button whose work may fail; the sentence stands beside it. */
export function Doing({ label, work, kind = "", disabled = false }: {
  label: string; work: () => Promise<void>; kind?: string; disabled?: boolean;
}) {
  const [state, setState] = useState<{ busy: boolean; error: string }>({ busy: false, error: "" });
  const run = async (): Promise<void> => {
    setState({ busy: true, error: "" });
    try {
      await work();
      setState({ busy: false, error: "" });
    } catch (problem) {
      setState({ busy: false, error: (problem as Error).message });
    }
  };
  return (
    <>
      <button type="button" class={kind} disabled={disabled || state.busy} onClick={() => void run()}>
        {label}
      </button>
      <Complaint text={state.error} />
    </>
  );
}

export function Choice<T extends string>({ label, value, options, set }: {
  label: string; value: T; options: readonly (readonly [T, string])[]; set: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {options.map(([one, words]) => (
        <button type="button" key={one} aria-pressed={one === value} onClick={() => set(one)}>
          {words}
        </button>
      ))}
    </fieldset>
  );
}

export function Tile({ value, children }: { value: string; children: ComponentChildren }) {
  return (
    <div class="tile">
      <b>{value}</b>
      <span>{children}</span>
    </div>
  );
}

/** A value that follows what a person types, a moment later. */
export function useSettled<T>(value: T, wait = 250): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return settled;
}
