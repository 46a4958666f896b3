import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog, IconButton } from "../controls.tsx";
import { OpenItem } from "../plans/plans-panel.tsx";
import type { Entry } from "../session.ts";
import { Problem } from "../variables/problem.tsx";
import { ProgramView } from "./program-view.tsx";
import "./programs.css";

/** Query options for the list of the tenant's programs. */
export function programsQuery({ client }: Entry) {
  return { queryKey: ["programs"], queryFn: () => client.programs.list() };
}

interface ProgramsDialogProps {
  readonly entry: Entry;
  readonly onClose: () => void;
}

/** The tenant's programs: the list, or one of them. */
export function ProgramsDialog({ entry, onClose }: ProgramsDialogProps) {
  const [selected, setSelected] = useState<string>();
  const { data, error } = useQuery(programsQuery(entry));
  return (
    <Dialog label="Programs" className="program-dialog" onClose={onClose}>
      {(close) =>
        selected === undefined ? (
          <section className="plans-panel">
            <header className="plans-title">
              <h2>Programs</h2>
              <IconButton icon="close" label="Close" onClick={close} />
            </header>
            <Problem error={error} />
            {data?.programs.length === 0 && (
              <p className="variables-empty">
                No programs yet: "Save as program" below an answer keeps what led to it.
              </p>
            )}
            <ul className="plans-list">
              {data?.programs.map(({ name, version, agent, createdAt }) => (
                <OpenItem key={name} {...{ name, createdAt }} onClick={() => setSelected(name)}>
                  <span>version {version}</span>
                  <span>{agent}</span>
                </OpenItem>
              ))}
            </ul>
          </section>
        ) : (
          <ProgramView {...{ entry, close }} name={selected} back={() => setSelected(undefined)} />
        )
      }
    </Dialog>
  );
}
