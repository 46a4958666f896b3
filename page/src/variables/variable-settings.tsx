import { type FormEvent, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { Problem } from "./problem.tsx";
import { problemWords } from "./problem-words.ts";
import { durationWords, secondsIn } from "./words.ts";

interface VariableSettingsProps {
  readonly session: Session;
  readonly info: VariableInfo;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

const MAX_DESCRIPTION_CHARS = 500;

/** Form for a variable's lifetime and description. */
export function VariableSettings({ session, info, onDone, onCancel }: VariableSettingsProps) {
  const { name, expiresAt, description = "" } = info;
  const before = expiresAt === undefined ? "" : durationWords(Date.parse(expiresAt) - Date.now());
  const [life, setLife] = useState(before);
  const [text, setText] = useState(description);
  const [problem, setProblem] = useState<string>();
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const ttl = secondsIn(life);
    if (ttl === undefined)
      return setProblem("Write a time as 90 s, 15 min, 2 h or 3 d, or nothing.");
    const changes = {
      ...(life === before ? {} : { ttl }),
      ...(text === description ? {} : { description: text }),
    };
    if (Object.keys(changes).length === 0) return onCancel();
    try {
      await session.client.conversation(session.conversation).variables.patch(name, changes);
      onDone();
    } catch (error) {
      setProblem(problemWords(error));
    }
    return undefined;
  };
  return (
    <form className="variables-form" onSubmit={(event) => void save(event)}>
      <label>
        Expires in
        <input
          value={life}
          placeholder="never, while it is used"
          onChange={({ target }) => setLife(target.value)}
        />
      </label>
      <label>
        Description
        <input
          value={text}
          maxLength={MAX_DESCRIPTION_CHARS}
          placeholder="What is it?"
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <Problem error={problem} />
      <div className="variables-buttons">
        <button type="submit" className="button button-main">
          Save
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
