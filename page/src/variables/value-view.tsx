import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useVariable } from "../../../packages/client/src/react.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { Button, Code } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";
import { bytesInWords, figure } from "../words.ts";
import { JsonTree } from "./json-tree.tsx";
import { Problem } from "./problem.tsx";
import { QueryBox } from "./query-box.tsx";
import { RecordForms } from "./record-forms.tsx";
import { useRecords, versionKey } from "./use-records.ts";
import { isShownImage } from "./words.ts";

interface ValueViewProps {
  readonly info: VariableInfo;
}

/** Shows a value in the view that suits its type. */
export function ValueView({ info }: ValueViewProps) {
  const { type, visibility, mediaType, bytes, count } = info;
  if (visibility === "secret") {
    return (
      <p className="variables-empty">This value is secret. Only tools that list it receive it.</p>
    );
  }
  if (type === "bytes" && isShownImage(mediaType)) return <ImageView info={info} />;
  if (type === "bytes") {
    return (
      <p className="variables-empty">
        {bytesInWords(bytes)} of {mediaType}. Download it to look inside.
      </p>
    );
  }
  if (type === "string") return <TextView info={info} />;
  return type === "array" && count > 0 ? <ArrayView info={info} /> : <JsonView info={info} />;
}

function ImageView({ info: { name, description = `$${name}` } }: ValueViewProps) {
  const { link, conversation } = useConversation().session;
  // The link is valid for a minute.
  const { data, error } = useQuery({
    queryKey: ["link", conversation.id, name],
    queryFn: () => link(conversation.id, `/variables/${encodeURIComponent(name)}`),
    ...unchanging,
    gcTime: 0,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  return <img className="variables-image" src={data} alt={description} />;
}

/** Characters per request. */
const PAGE_CHARS = 20_000;

/** Shows a text in pages. */
function TextView({ info }: ValueViewProps) {
  const { name, count } = info;
  const { conversation } = useConversation().session;
  const { data, error, fetchNextPage } = useInfiniteQuery({
    queryKey: [...versionKey(conversation, info), "text"],
    queryFn: ({ pageParam: offset }) =>
      conversation.variables.get<string>(name, { offset, limit: PAGE_CHARS }),
    initialPageParam: 0,
    getNextPageParam: (_, pages) => pages.length * PAGE_CHARS,
    enabled: count > 0,
    ...unchanging,
  });
  const pages = data?.pages ?? [];
  const shown = Math.min(count, pages.length * PAGE_CHARS);
  const next = Math.min(PAGE_CHARS, count - shown);
  return (
    <div className="variables-value">
      <Code className="variables-text" label={`The text of $${name}`}>
        {pages.join("")}
      </Code>
      <Problem error={error} />
      {next > 0 && shown > 0 && (
        <Button className="variables-more" onClick={() => void fetchNextPage()}>
          Show {figure(next)} more characters ({figure(shown)} of {figure(count)})
        </Button>
      )}
    </div>
  );
}

/** Larger values are not shown as a tree. */
const MAX_TREE_BYTES = 16_777_216;

function JsonView({ info: { name, bytes } }: ValueViewProps) {
  const { conversation } = useConversation().session;
  const isSmall = bytes <= MAX_TREE_BYTES;
  const { value, error } = useVariable(isSmall ? conversation : undefined, name);
  if (!isSmall) {
    return <p className="variables-empty">{bytesInWords(bytes)} are too much to be shown whole.</p>;
  }
  if (error !== undefined) return <Problem error={error} />;
  if (value === undefined) return <p className="variables-wait">Loading…</p>;
  return <JsonTree value={value} root={`$${name}`} />;
}

function ArrayView({ info }: ValueViewProps) {
  const records = useRecords(info);
  const { need, rows, error } = records;
  useEffect(() => {
    need(0, 1);
  }, [need]);
  if (rows.length === 0) {
    const wait = <p className="variables-wait">Loading…</p>;
    return error === undefined ? wait : <Problem error={error} />;
  }
  const tree = info.bytes <= MAX_TREE_BYTES ? <JsonView info={info} /> : undefined;
  return (
    <div className="variables-value">
      <Problem error={error} />
      <QueryBox name={info.name}>
        <RecordForms {...{ records, tree }} name={info.name} />
      </QueryBox>
    </div>
  );
}
