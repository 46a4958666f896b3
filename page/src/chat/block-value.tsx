import { lazy, type ReactNode, Suspense, useState } from "react";
import type { ReceiptSpan } from "../../../packages/client/src/client.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { isDrawable } from "../chart/drawable.ts";
import { useConversation } from "../conversation-context.ts";
import { Segments } from "../segments.tsx";
import { Problem } from "../variables/problem.tsx";
import { useRecords } from "../variables/use-records.ts";

const RecordsChart = lazy(() => import("../chart/records-chart.tsx"));

const FORMS = ["Table", "Chart"] as const;

interface BlockValueProps {
  readonly span: ReceiptSpan;
  /** The value as rendered in the answer. */
  readonly children: ReactNode;
}

/** A value in a block of its own. Offers a chart if it can be drawn. */
export function BlockValue({ span, children }: BlockValueProps) {
  const { variable: name, path, version } = span;
  const { variables } = useConversation();
  const [form, setForm] = useState<(typeof FORMS)[number]>("Table");
  const info = variables.get(name);
  if (info === undefined || path !== "" || !isDrawable(info)) return children;
  const hasChanged = version !== undefined && version !== info.version;
  return (
    <>
      <Segments
        className="reference-forms"
        label={`$${name} shown as`}
        values={FORMS}
        value={form}
        onChoose={setForm}
      />
      {form === "Table" ? (
        children
      ) : (
        <div className="reference-chart">
          {hasChanged && (
            <p className="reference-note">
              It has changed since. The chart shows its current value.
            </p>
          )}
          <ValueChart key={info.version} info={info} />
        </div>
      )}
    </>
  );
}

function ValueChart({ info }: { readonly info: VariableInfo }) {
  const { session } = useConversation();
  const records = useRecords(session, info);
  if (records.error !== undefined) return <Problem error={records.error} />;
  return (
    <Suspense fallback={<p className="variables-wait">Loading…</p>}>
      <RecordsChart records={records} name={info.name} />
    </Suspense>
  );
}
