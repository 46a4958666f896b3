import { inputResponse, type ServerContext } from "@modelcontextprotocol/server";
import { characters } from "../../../src/internal.ts";
import type { ApprovalLedger, VariableDiff } from "../../../src/internal-tool.ts";
import type { ApprovalNeeded } from "./gateway.ts";

/** The key of the question whether a call may run, as the client names the answer. */
export const APPROVAL = "approve";

/** State that a client returns with the answer: the id of the question. */
export interface ApprovalState {
  readonly question?: string;
}

export const DECLINED = "The user declined this call. Do not try it again unless you are asked to.";

/** Approves the call whose pin was shown to a person who accepted, and no other. A declined question is closed. */
export function approvalsFor(
  name: string,
  { mcpReq }: ServerContext,
  approvals: ApprovalLedger<string>,
) {
  const response = inputResponse(mcpReq.inputResponses, APPROVAL);
  const { question = "" } = mcpReq.requestState<ApprovalState>() ?? {};
  const isAccepted = response.kind === "elicit" && response.action === "accept";
  const isDeclined = response.kind === "elicit" && !isAccepted;
  if (isDeclined) approvals.take(question);
  const withName = (pin: string) => JSON.stringify([name, pin]);
  return {
    isDeclined,
    isApproved: (pin: string) =>
      isAccepted && approvals.take(question, withName(pin)) !== undefined,
    ask: (pin: string) => {
      const id = crypto.randomUUID();
      approvals.ask(id, withName(pin));
      return id;
    },
  };
}

export function questionAbout(tool: string, { approval }: ApprovalNeeded): string {
  const { reason, input, diffs = [] } = approval;
  // Diffs come first, because the input is clipped and can fill what a client shows.
  const parts = [characters.visibleText(`Run ${tool}? ${reason}`), ...diffs.map(diffText), input];
  return parts.join("\n\n");
}

function diffText({ name, from, diff, more, withheld }: VariableDiff): string {
  if (diff === undefined) return `$${name} was edited: ${WITHHELD[withheld ?? "gone"]}.`;
  const source = from === undefined ? "" : ` from $${from.name}, version ${from.version}`;
  const rest = more === undefined ? "" : `… (+${more} lines)\n`;
  return `$${name} was edited${source}:\n${diff}${rest}`.trimEnd();
}

const WITHHELD = {
  sealed: "the change is sealed",
  too_large: "the values are too large to compare",
  gone: "the value before is not kept",
} as const;

export function refusalOf({
  approval,
}: {
  readonly approval: { readonly reason: string };
}): string {
  return `${approval.reason} This client cannot ask a person. Do not try again; tell the user, who can use a client with elicitation or change "approval" of this server in the configuration.`;
}
