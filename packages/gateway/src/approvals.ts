import { inputResponse, type ServerContext } from "@modelcontextprotocol/server";
import { characters, encoding } from "../../../src/internal.ts";
import type { VariableDiff } from "../../../src/internal-tool.ts";
import type { ApprovalNeeded, GatewayCall } from "./gateway.ts";
import type { WaitingCalls } from "./running-call.ts";

/** The key of the question whether a call may run, as the client names the answer. */
export const APPROVAL = "approve";

/** State that a client returns with the answer. */
export interface ApprovalState {
  /** A digest of the tool, the pin and the nonce. The pin itself must not leave the gateway. */
  readonly approved?: string;
  /** An approval counts once. */
  readonly nonce?: string;
}

interface Approving {
  /** Signs what clients send back. */
  readonly key: Uint8Array;
  readonly waiting: WaitingCalls;
  readonly context: ServerContext;
}

export const DECLINED = "The user declined this call. Do not try it again unless you are asked to.";

export function isDeclined({ mcpReq }: ServerContext): boolean {
  const response = inputResponse(mcpReq.inputResponses, APPROVAL);
  return response.kind === "elicit" && response.action !== "accept";
}

/** Creates the state that approves one call of this tool with these values. */
export async function approvalState(
  name: string,
  pin: string,
  { key }: Pick<Approving, "key">,
): Promise<ApprovalState> {
  const nonce = crypto.randomUUID();
  return { approved: await keyedDigest([name, pin, nonce], key), nonce };
}

/** Approves the call whose pin was shown to a person who accepted, and no other. */
export function approvedBy(
  name: string,
  { context: { mcpReq }, key, waiting }: Approving,
): GatewayCall["isApproved"] {
  const response = inputResponse(mcpReq.inputResponses, APPROVAL);
  const { approved, nonce = "" } = mcpReq.requestState<ApprovalState>() ?? {};
  const isAccepted = response.kind === "elicit" && response.action === "accept";
  return async (pin) => {
    if (!isAccepted || approved !== (await keyedDigest([name, pin, nonce], key))) return false;
    return waiting.spend(nonce);
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

async function keyedDigest(parts: readonly string[], key: Uint8Array): Promise<string> {
  const imported = await crypto.subtle.importKey(
    "raw",
    new Uint8Array(key),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = await crypto.subtle.sign(
    "HMAC",
    imported,
    new TextEncoder().encode(JSON.stringify(parts)),
  );
  return encoding.toBase64(new Uint8Array(signature));
}
