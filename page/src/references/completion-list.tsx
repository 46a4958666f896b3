import { type KeyboardEvent, type RefObject, useId, useState } from "react";
import { useConversation } from "../conversation-context.ts";
import { type Completion, completionsFor } from "./completions.ts";
import "./completion-list.css";

interface Completing {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly setDraft: (text: string) => void;
}

/** Offers the references that the text before the caret may mean. The arrow keys choose, Enter and Tab take one. */
export function useCompletions({ field, setDraft }: Completing) {
  const { variables } = useConversation();
  const id = useId();
  const [before, setBefore] = useState("");
  const [chosen, setChosen] = useState<number>();
  const found = completionsFor(before, variables);
  const all = found?.all ?? [];
  const at = chosen ?? (found?.isWhole === true ? -1 : 0);
  const close = () => setBefore("");
  const look = () => {
    const { value = "", selectionStart = 0, selectionEnd = 0 } = field.current ?? {};
    setBefore(selectionStart === selectionEnd ? value.slice(0, selectionStart) : "");
    setChosen(undefined);
  };
  const take = ({ reference }: Completion) => {
    field.current?.setRangeText(reference, found?.from ?? 0, before.length, "end");
    field.current?.focus();
    setDraft(field.current?.value ?? "");
    look();
  };
  /** True if the key was for the list. */
  const onKeyDown = ({ key, shiftKey }: KeyboardEvent): boolean => {
    if (all.length === 0 || shiftKey) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const one = key === "Enter" || key === "Tab" ? all[at] : undefined;
    if (step !== undefined) setChosen((Math.max(at, -step) + step + all.length) % all.length);
    else if (key === "Escape") close();
    else if (one !== undefined) take(one);
    return step !== undefined || key === "Escape" || one !== undefined;
  };
  const list = all.length > 0 && (
    <ul className="completions" id={id} role="listbox" aria-label="References">
      {all.map((one, index) => (
        <li
          key={one.reference}
          id={`${id}${index}`}
          className="completions-one"
          role="option"
          aria-selected={index === at}
          onPointerDown={(event) => {
            event.preventDefault();
            take(one);
          }}
        >
          <code>{one.reference}</code>
          <span>{one.about}</span>
        </li>
      ))}
    </ul>
  );
  const attributes = {
    "aria-autocomplete": "list" as const,
    "aria-controls": all.length > 0 ? id : undefined,
    "aria-activedescendant": all.length > 0 && at >= 0 ? `${id}${at}` : undefined,
    onSelect: look,
    onBlur: close,
  };
  return { list, onKeyDown, attributes };
}
