import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { useVariable } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { unchanging } from "../queries.ts";
import { Segments } from "../segments.tsx";
import type { Session } from "../session.ts";
import { JsonTree } from "./json-tree.tsx";
import { Problem } from "./problem.tsx";
import { QueryBox } from "./query-box.tsx";
import { RecordTable } from "./record-table.tsx";
import { isRecord } from "./records.ts";
import { TextView } from "./text-view.tsx";
import { useRecords } from "./use-records.ts";
import { isShownImage, pathOf } from "./value-path.ts";
import { bytesInWords } from "../words.ts";

// Loaded on demand: most variables are never drawn.
const RecordsChart = lazy(() => import("../chart/records-chart.tsx"));

export interface ValueViewProps {
  readonly session: Session;
  readonly info: VariableInfo;
}

/** Shows a value in the view that suits its type. */
export function ValueView({ session, info }: ValueViewProps) {
  const { type, visibility, mediaType } = info;
  if (visibility === "secret") {
    return (
      <p className="variables-empty">This value is secret. Only tools that list it receive it.</p>
    );
  }
  if (type === "bytes") {
    return isShownImage(mediaType) ? (
      <ImageView session={session} info={info} />
    ) : (
      <p className="variables-empty">
        {bytesInWords(info.bytes)} of {mediaType}. Download it to look inside.
      </p>
    );
  }
  if (type === "string") return <TextView session={session} info={info} />;
  if (type === "array" && info.count > 0) return <ArrayView session={session} info={info} />;
  return <JsonView session={session} info={info} />;
}

function ImageView({ session, info }: ValueViewProps) {
  const path = pathOf(session.conversation, info.name);
  // The link is valid for a minute.
  const link = { queryKey: ["link", path], queryFn: () => session.link(path) };
  const { data, error } = useQuery({ ...link, ...unchanging, gcTime: 0 });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  return <img className="variables-image" src={data} alt={info.description ?? `$${info.name}`} />;
}

/** Larger values are not shown as a tree. */
const MAX_TREE_BYTES = 16_777_216;

function JsonView({ session, info }: ValueViewProps) {
  const isSmall = info.bytes <= MAX_TREE_BYTES;
  const conversation = session.client.conversation(session.conversation);
  const { value, error } = useVariable(isSmall ? conversation : undefined, info.name);
  if (!isSmall) {
    return (
      <p className="variables-empty">{bytesInWords(info.bytes)} are too much to be shown whole.</p>
    );
  }
  if (error !== undefined) return <Problem error={error} />;
  if (value === undefined) return <p className="variables-wait">Loading…</p>;
  return <JsonTree value={value} root={`$${info.name}`} />;
}

type Form = "Table" | "Chart" | "Tree";

function ArrayView({ session, info }: ValueViewProps) {
  const records = useRecords(session, info);
  const [chosen, setChosen] = useState<Form>();
  const { need } = records;
  useEffect(() => {
    need(0, 1);
  }, [need]);
  if (records.rows.length === 0 && records.error !== undefined) {
    return <Problem error={records.error} />;
  }
  if (records.rows.length === 0) return <p className="variables-wait">Loading…</p>;
  const isTable = records.rows.every(({ value }) => isRecord(value));
  const hasNumbers = records.columns.some(({ isNumeric }) => isNumeric);
  const hasTree = info.bytes <= MAX_TREE_BYTES;
  const forms: readonly Form[] = [
    "Table",
    ...(hasNumbers && info.count > 1 ? (["Chart"] as const) : []),
    ...(hasTree ? (["Tree"] as const) : []),
  ];
  const form = chosen ?? (isTable || hasNumbers || !hasTree ? "Table" : "Tree");
  return (
    <div className="variables-value">
      <Problem error={records.error} />
      <QueryBox session={session} name={info.name}>
        {forms.length > 1 ? (
          <Segments label="Shown as" values={forms} value={form} onChoose={setChosen} />
        ) : null}
        {form === "Table" ? <RecordTable records={records} name={info.name} /> : null}
        {form === "Tree" ? <JsonView session={session} info={info} /> : null}
        {form === "Chart" ? (
          <Suspense fallback={<p className="variables-wait">Loading…</p>}>
            <RecordsChart records={records} name={info.name} />
          </Suspense>
        ) : null}
      </QueryBox>
    </div>
  );
}
