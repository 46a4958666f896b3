import { useQuery } from "@tanstack/react-query";
import { getToolName, type UIMessage } from "ai";
import type { ReactNode } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Savings } from "../../../src/turn/spend/account.ts";
import { Button } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { TokenBars } from "../meter/meter-panel.tsx";
import { costOf, savesPrompt } from "../meter/turn-costs.ts";
import { unchanging } from "../queries.ts";
import { cardOf, showCard } from "../references/reference-mark.tsx";
import { sourcesIn } from "./tool-card.tsx";
import { handleIn, isToolPart, LARGE_BYTES, metadataOf, type ToolPart } from "./tool-part.ts";
import { bytesInWords, plural } from "../words.ts";
import "./proof.css";

/** True for an answer whose prompts are much shorter because of references. */
export function hasProof(message: UIMessage): boolean {
  const { savings } = metadataOf(message);
  return savings !== undefined && (savesPrompt(savings) || (savings.wouldNotFit ?? 0) > 0);
}

/**
 * Says which large value went from tool to tool, and what the model read and wrote of it. The first one of a
 * conversation also shows the tokens.
 */
export function Proof({
  message,
  isFirst,
}: {
  readonly message: UIMessage;
  readonly isFirst: boolean;
}): ReactNode {
  const { variables } = useConversation();
  const calls = message.parts.filter(isToolPart);
  const { data: flows = [] } = useQuery({
    queryKey: ["flows", message.id, calls.length],
    queryFn: () => flowsOf(calls),
    ...unchanging,
  });
  const { savings, usage } = metadataOf(message);
  if (savings === undefined) return null;
  const sized = flows.flatMap(({ name, call }) => {
    const info = variables.get(name);
    return info === undefined ? [] : [{ info, call, bytes: movedBytes(call, info, savings) }];
  });
  const [largest] = sized.toSorted((one, other) => other.bytes - one.bytes);
  if (largest === undefined || largest.bytes < LARGE_BYTES) return null;
  const { info, call, bytes } = largest;
  const written = savings.authoredChars || queryOf(call).length;
  return (
    <section className="proof" aria-label="What the model read">
      <p className="proof-line">
        <b>{bytesInWords(bytes)}</b> went from <code>{info.tool ?? `$${info.name}`}</code> to{" "}
        <code>{getToolName(call)}</code>. The model {readWords(info.name, calls)}wrote{" "}
        <b>{plural(written, "character")}</b>.
      </p>
      {isFirst && <TokenBars cost={costOf(savings, usage)} />}
      <Button className="link-button" onClick={() => showCard(cardOf(call.toolCallId))}>
        See what the model wrote
      </Button>
    </section>
  );
}

/** Returns the variables that calls received by reference, or as tables of a query. */
async function flowsOf(calls: readonly ToolPart[]) {
  const flows = calls.map(async (call) => {
    const sources = await sourcesIn(JSON.stringify(call.input ?? null));
    const tables = queryOf(call).match(/\w+/g) ?? [];
    return [...sources.map(({ name }) => name), ...tables].map((name) => ({ name, call }));
  });
  return (await Promise.all(flows)).flat();
}

function queryOf({ input }: ToolPart): string {
  const { sql } = { ...(input as { readonly sql?: unknown } | undefined) };
  return typeof sql === "string" ? sql : "";
}

/** A reference to a part moves that part alone. A query reads its tables whole. */
function movedBytes(call: ToolPart, { bytes }: VariableInfo, savings: Savings): number {
  return queryOf(call) === "" ? Math.min(bytes, savings.resolvedChars) : bytes;
}

/** Tools that may show the model other parts of a value. */
const READS = /^(?:read_variable|search_variable|query_variables|run_code)$/;

/** Says what the model saw of a variable: the preview in its handle. Empty if that is not known. */
function readWords(name: string, calls: readonly ToolPart[]): string {
  if (calls.some((call) => READS.test(getToolName(call)))) return "";
  const handles = calls.map((call) => handleIn("output" in call ? call.output : undefined));
  const handle = handles.find((one) => one?.name === name);
  if (handle?.size === undefined) return "";
  const chars = handle.preview?.length ?? 0;
  return `read ${chars === 0 ? "none" : `${plural(chars, "character")}`} of it and `;
}
