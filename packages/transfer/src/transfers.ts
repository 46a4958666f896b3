import type { Context } from "hono";
import * as z from "zod";
import { ByrefError } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import {
  type ConversationParts,
  conversations,
  type Endpoint,
  endpoint,
  locationQuery,
  logFailure,
  parameters,
  type Support,
  withEnd,
  type appEnv,
  type contexts,
} from "../../../src/internal-edge.ts";
import { migrations } from "../../../src/internal.ts";
import { openConversation } from "./export.ts";
import { importInto } from "./import.ts";
import { joinParts, NDJSON, sealOf, storePart } from "./import-parts.ts";
import { writeFile } from "./transfer-lines.ts";

/** `POST …/fork`. */
const forkBody = z.strictObject({ id: z.string().optional() });
const made = z.strictObject({
  id: parameters.text,
  findings: z
    .array(z.strictObject({ code: parameters.text, message: parameters.text }))
    .optional()
    .describe("What the copy does not have as the file says"),
});
const keepLabels = z.enum(["keep"]).optional();
const partTaken = z.strictObject({
  import: parameters.text.describe("Pass it with the following parts"),
  part: z.int().min(1),
  of: z.int().min(1),
});

const file = { "application/x-ndjson": parameters.text };

/** Attempts if the conversation changes while it is copied, or an id is taken. */
const MAX_TRIES = 3;

const exportEndpoint: Endpoint<ConversationParts> = endpoint(
  "GET /conversations/:id/export",
  {
    summary: "Exports the conversation as a file, without secret values",
    answers: { 200: file },
  },
  async ({ params: { id } }, { context }) => {
    await context.deletion.whenDone();
    const source = context.requireExisting();
    const { tenant } = conversations.nameIn(context.state.id.name);
    const file = writeFile(
      () => openConversation(context, source, id),
      async (sha256) => tenant && sealOf(context.settings, tenant, sha256),
    );
    const name = `attachment; filename="${id}.ndjson"`;
    return new Response(file, { headers: { ...NDJSON, "content-disposition": name } });
  },
);

/** Imports the body as this conversation. Throws `conversation_exists`, and what `importInto` throws. */
async function importFrom(
  context: contexts.ConversationContext,
  { id, labels }: { readonly id: string; readonly labels: "keep" | "lower" },
  { body }: Request,
): Promise<Response> {
  const incoming = body ?? new Blob().stream();
  if (migrations.hasSchema(context.sql)) {
    await incoming.cancel();
    throw new ByrefError("conversation_exists", `The conversation ${id} already exists.`);
  }
  const isTrusted = labels === "keep";
  const findings = await context.deletion.runImport(() =>
    importInto(context, { id, isTrusted }, incoming),
  );
  context.wake();
  await context.settle();
  return Response.json({ id, ...(findings.length > 0 && { findings }) }, { status: 201 });
}

const own = { id: parameters.text, labels: z.enum(["keep", "lower"]).prefault("keep") };
const part = parameters.wholeNumber(1, limits.maxBatchItems).prefault(1);

/** Import into a conversation's object, and storage of an import's parts in a separate object. */
const internalEndpoints: readonly Endpoint<ConversationParts>[] = [
  endpoint(
    "POST /transfer/import",
    { summary: "Imports a file", query: own, content: file, answers: { 201: "Imported" } },
    ({ query, request }, { context }) => importFrom(context, query, request),
  ),
  endpoint(
    "PUT /transfer/parts",
    // During a deploy, a Worker of an earlier version sends `of`.
    {
      summary: "Stores a part",
      query: { part, of: part },
      content: file,
      answers: { 201: "Stored" },
    },
    ({ query, request }, { context }) => storePart(context, query.part, request),
  ),
  endpoint(
    "GET /transfer/parts",
    { summary: "Joins the parts of a file", answers: { 200: file } },
    (_, { context }) => joinParts(context),
  ),
];

/** Import and fork, which create conversations. */
const workerEndpoints: readonly Endpoint<Context<appEnv.AppEnv>>[] = [
  endpoint(
    "POST /conversations/:id/fork",
    {
      summary: "Copies a conversation to a new id",
      query: { location: locationQuery },
      body: forkBody,
      isBodyOptional: true,
      answers: { 201: { "application/json": made } },
    },
    async ({ params, body: { id = crypto.randomUUID() } }, context) => {
      const target = conversations.conversationOf(context, id);
      return retryIf("conflict", async () => {
        const source = conversations.conversationOf(context);
        const file = await source.fetch(`http://conversation/conversations/${params.id}/export`);
        return file.ok ? sendTo(target, { id, labels: "keep" }, file) : file;
      });
    },
  ),
  endpoint(
    "POST /conversations/import",
    {
      summary: "Imports a conversation from a file, in one or more parts",
      query: {
        part,
        of: part,
        import: parameters.text.optional().describe("The import returned for part 1"),
        labels: keepLabels.describe("Trusts the file: its labels and approvals are kept"),
        location: locationQuery,
      },
      content: file,
      answers: { 201: { "application/json": made }, 202: { "application/json": partTaken } },
    },
    async ({ query: { part, of, import: known, labels }, request }, context) => {
      if (part > of)
        throw new ByrefError("bad_request", `part must be a whole number from 1 to ${of}.`);
      if (part > 1 && known === undefined)
        throw new ByrefError("bad_request", "import must be what the answer to part 1 said.");
      requireSmallPart(request);
      const upload = conversations.requireId(known ?? crypto.randomUUID());
      const parts = conversations.importOf(context, upload);
      const { header, body } = withEnd(context.var.body.pieces());
      const stored = await parts.fetch(`http://conversation/transfer/parts?part=${part}`, {
        method: "PUT",
        headers: [header, ["content-type", "application/octet-stream"]],
        body,
      });
      if (!stored.ok) return conversations.mutableResponse(stored);
      await stored.arrayBuffer();
      if (part < of) return Response.json({ import: upload, part, of }, { status: 202 });
      try {
        return await importParts(context, parts, labels);
      } finally {
        await deleteParts(parts, upload);
      }
    },
  ),
];

/** Throws `body_too_large`. */
function requireSmallPart({ headers }: Request): void {
  const maximum = limits.maxValueBytes;
  const length = Number(headers.get("content-length") ?? 0);
  if (length <= maximum) return;
  const message = `A part is at most ${maximum} bytes, this is ${length}: send several, with part and of.`;
  throw new ByrefError("body_too_large", message);
}

/** Imports under the file's own id if that is free, otherwise under a new one. */
function importParts(
  context: Context<appEnv.AppEnv>,
  parts: conversations.RemoteConversation,
  given: "keep" | undefined,
): Promise<Response> {
  return retryIf("conversation_exists", async (tries) => {
    const file = await parts.fetch("http://conversation/transfer/parts");
    if (!file.ok) return file;
    const own = file.headers.get("x-byref-id") ?? "";
    const id = tries === 1 ? own : crypto.randomUUID();
    const labels = file.headers.has("x-byref-sealed") ? "keep" : (given ?? "lower");
    return sendTo(conversations.conversationOf(context, id), { id, labels }, file);
  });
}

/** Returns the response, or that of another attempt while it has this code. */
async function retryIf(
  code: string,
  attempt: (tries: number) => Promise<Response>,
): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const response = await attempt(tries);
    const isRefused = response.status === 409 && (await codeIn(response.clone())) === code;
    if (tries === MAX_TRIES || !isRefused) return conversations.mutableResponse(response);
  }
}

async function codeIn(problem: Response): Promise<string | undefined> {
  return (await problem.json<{ readonly code?: string }>()).code;
}

function sendTo(
  conversation: conversations.RemoteConversation,
  imported: { readonly id: string; readonly labels: "keep" | "lower" },
  { body }: Response,
): Promise<Response> {
  const query = new URLSearchParams(imported);
  return conversation.fetch(`http://conversation/transfer/import?${query}`, {
    method: "POST",
    body,
  });
}

/** Does not throw. Remaining parts are deleted when their object is idle. */
async function deleteParts(parts: conversations.RemoteConversation, id: string): Promise<void> {
  try {
    const init = { method: "DELETE" };
    const deleted = await parts.fetch(`http://conversation/conversations/${id}`, init);
    await deleted.body?.cancel();
  } catch (error) {
    logFailure(error, { conversation: id, request: "POST /conversations/import" });
  }
}

export const transfers: Support = {
  api: {
    worker: workerEndpoints,
    conversation: [exportEndpoint],
    internal: internalEndpoints,
    components: {
      ForkBody: forkBody,
      Made: made,
      PartTaken: partTaken,
    },
  },
};
