import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ClientError, type ProgramView as Program } from "../../../packages/client/src/client.ts";
import { Dialog, SubmitButtons } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { useAttempt } from "../hooks.ts";
import { Findings } from "../plans/plan-view.tsx";
import { unchanging } from "../queries.ts";
import { Problem } from "../variables/problem.tsx";
import { fieldsOf } from "./input-fields.ts";
import { ProgramSteps, ProgramView } from "./program-view.tsx";
import { programsQuery } from "./programs-dialog.tsx";

interface SaveProgramProps {
  /** A variable, as `$report`, or the id of an answer. */
  readonly from: string;
  readonly onClose: () => void;
}

/** Shows what led to a value or an answer, and keeps it as a program. */
export function SaveProgram({ from, onClose }: SaveProgramProps) {
  const { session } = useConversation();
  const { client, conversation } = session;
  const [name, setName] = useState("");
  const [saved, setSaved] = useState<Program>();
  const [problem, attempt, , isBusy] = useAttempt();
  const queries = useQueryClient();
  const source = { conversation: conversation.id, from };
  const { data: made, error } = useQuery({
    queryKey: ["conversation", conversation.id, "program", from],
    queryFn: () => client.programs.put("check", source, { check: true }),
    ...unchanging,
  });
  const { data: listed } = useQuery(programsQuery(session));
  const before = listed?.programs.find((one) => one.name === name);
  const isName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/.test(name);
  const save = (event: FormEvent) => {
    event.preventDefault();
    void attempt(async () => {
      setSaved(await client.programs.put(name, source));
      void queries.invalidateQueries({ queryKey: ["programs"] });
      void queries.invalidateQueries({ queryKey: ["program", name] });
    });
  };
  const inputs = fieldsOf(made?.input).flatMap(({ key }) => key ?? []);
  const none = "It was given nothing, so each run does the same.";
  const given = inputs.length ? `Each run may be given other ${inputs.join(", ")}.` : none;
  const { findings = [] } = { ...(error instanceof ClientError ? error.details : undefined) };
  return (
    <Dialog label="Save as program" className="program-dialog" onClose={onClose}>
      {(close) =>
        saved !== undefined ? (
          <ProgramView
            {...{ close, name }}
            entry={session}
            note={`Saved as version ${saved.version}. It runs again without a model.`}
          />
        ) : (
          <form className="plans-panel" onSubmit={save}>
            <header className="plans-title">
              <h2>Save as program</h2>
            </header>
            <div className="plans-form">
              <label htmlFor="program-name">Name</label>
              <input
                id="program-name"
                className="field"
                autoFocus
                autoComplete="off"
                placeholder="monthly-report"
                value={name}
                maxLength={100}
                aria-invalid={name !== "" && !isName}
                aria-describedby="program-hint"
                onChange={({ target }) => setName(target.value.replaceAll(/\s+/g, "-"))}
              />
              <p id="program-hint" className="plans-quiet" aria-live="polite">
                {name !== "" && !isName
                  ? "Use the letters A to Z, digits, dots, _ and -."
                  : before
                    ? `There is a program of this name: this becomes its version ${before.version + 1}.`
                    : made && given}
              </p>
              <Problem error={problem ?? (made ? undefined : error)} />
              <SubmitButtons word="Save" isOff={!isName || isBusy || !made} onCancel={close} />
            </div>
            {Array.isArray(findings) && <Findings findings={findings} label="Problems" />}
            {made !== undefined && <ProgramSteps program={made} />}
          </form>
        )
      }
    </Dialog>
  );
}
