import type { ReactNode } from "react";
import { plural } from "../words.ts";

interface AnswerSwitchesProps {
  /** True if the answer has a number. */
  readonly hasFigures: boolean;
  /** True if the model's text differs from the shown text. */
  readonly hasReferences: boolean;
  readonly showsWritten: boolean;
  readonly setShowsWritten: (on: boolean) => void;
  readonly marksTyped: boolean;
  readonly setMarksTyped: (on: boolean) => void;
  /** Number of figures that the model typed, if known. */
  readonly typed: number | undefined;
}

/** Switches of an answer: show references, and mark typed figures. */
export function AnswerSwitches(props: AnswerSwitchesProps): ReactNode {
  const { hasReferences, showsWritten, setShowsWritten } = props;
  const { hasFigures, marksTyped, setMarksTyped, typed } = props;
  return (
    <>
      {hasReferences && <Switch word="Show references" isOn={showsWritten} set={setShowsWritten} />}
      {hasFigures && <Switch word="Mark typed figures" isOn={marksTyped} set={setMarksTyped} />}
      <span className="message-typed" role="status">
        {marksTyped && typed !== undefined && typedInWords(typed)}
      </span>
    </>
  );
}

function typedInWords(typed: number): string {
  if (typed === 0) return "The model typed no figure.";
  return `The model typed ${plural(typed, "figure")}.`;
}

interface SwitchProps {
  readonly word: string;
  readonly isOn: boolean;
  readonly set: (on: boolean) => void;
}

function Switch({ word, isOn, set }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      className="message-switch"
      aria-checked={isOn}
      onClick={() => set(!isOn)}
    >
      <span className="message-knob" aria-hidden="true" />
      {word}
    </button>
  );
}
