import { useState } from "react";
import { useVariableInfo } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Icon } from "../icon.tsx";
import { codeOf, problemWords } from "./problem-words.ts";
import { ValueEditor, whyNotEdited } from "./value-editor.tsx";
import { ValueView } from "./value-view.tsx";
import { type Doing, VariableActions } from "./variable-actions.tsx";
import { VariableFacts } from "./variable-facts.tsx";
import { VariableName } from "./variable-list.tsx";
import { VariableSettings } from "./variable-settings.tsx";
import { CopyButton } from "./copy-button.tsx";
import "./variable-view.css";

export interface VariableViewProps {
  readonly session: Session;
  readonly name: string;
  readonly takesFocus: boolean;
  readonly onClose: () => void;
}

/** A variable: its metadata, value and actions. */
export function VariableView(props: VariableViewProps) {
  const { session, name, takesFocus, onClose } = props;
  const conversation = session.client.conversation(session.conversation);
  const { info, error } = useVariableInfo(conversation, name);
  return (
    <article className="variables-one" aria-label={`Variable ${name}`}>
      <header className="variables-title">
        <button
          type="button"
          className="variables-action"
          aria-label="All variables"
          autoFocus={takesFocus}
          onClick={onClose}
        >
          <Icon name="back" size={16} />
        </button>
        <h2>
          <VariableName name={name} />
        </h2>
        <CopyButton text={`$${name}`} />
      </header>
      {error === undefined ? null : <Gone error={error} />}
      {info === undefined ? null : <VariableBody {...{ session, info, onClose }} />}
    </article>
  );
}

function isGone(error: unknown): boolean {
  return ["variable_not_found", "variable_evicted"].includes(codeOf(error) ?? "");
}

function Gone({ error }: { readonly error: unknown }) {
  return (
    <p className={isGone(error) ? "variables-empty" : "variables-problem"} role="alert">
      {problemWords(error)}
    </p>
  );
}

interface VariableBodyProps {
  readonly session: Session;
  readonly info: VariableInfo;
  readonly onClose: () => void;
}

function VariableBody({ session, info, onClose }: VariableBodyProps) {
  const [doing, setDoing] = useState<Doing>("view");
  const view = () => setDoing("view");
  return (
    <>
      <VariableFacts info={info} />
      <VariableActions
        {...{ session, info, doing, onClose }}
        canEdit={whyNotEdited(info) === undefined}
        onDo={setDoing}
      />
      {doing === "settings" ? (
        <VariableSettings session={session} info={info} onDone={view} onCancel={view} />
      ) : null}
      {doing === "edit" ? (
        <ValueEditor session={session} info={info} onDone={view} onCancel={view} />
      ) : (
        // A new value resets the view.
        <ValueView key={`${info.version}/${info.updatedAt}`} session={session} info={info} />
      )}
    </>
  );
}
