import type { Entry } from "../session.ts";

/** A conversation in the index. */
export interface Listed {
  readonly id: string;
  readonly title: string | null;
  readonly status: "idle" | "running" | "waiting";
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ListedPage {
  readonly conversations: readonly Listed[];
  readonly next?: string;
}

const PAGE = 30;
/** Size of an import's parts, below the server's limit. */
const PART_BYTES = 90 * 1024 * 1024;

const JSON_HEADERS = { "content-type": "application/json" };

/** Calls that the typed client does not have. Trusts the server to answer as documented. */
export function apiOf({ fetch }: Entry) {
  const at = (id: string) => `/conversations/${encodeURIComponent(id)}`;
  const json = async <Body>(path: string, init?: RequestInit) =>
    (await (await fetch(path, init)).json()) as Body;
  return {
    list: (before?: string) =>
      json<ListedPage>(
        `/conversations?${new URLSearchParams({ limit: String(PAGE), ...(before && { before }) })}`,
      ),
    about: (id: string) => json<Listed>(at(id)),
    rename: (id: string, title: string) =>
      json<unknown>(at(id), {
        method: "PATCH",
        headers: JSON_HEADERS,
        body: JSON.stringify({ title }),
      }),
    fork: (id: string) => json<{ readonly id: string }>(`${at(id)}/fork`, { method: "POST" }),
    /** Uploads a file in parts. Resolves with the new conversation's id. */
    import: async (file: Blob): Promise<string> => {
      const of = Math.max(1, Math.ceil(file.size / PART_BYTES));
      let upload: string | undefined;
      for (let part = 1; part <= of; part++) {
        const body = file.slice((part - 1) * PART_BYTES, part * PART_BYTES);
        const query = { part: String(part), of: String(of), ...(upload && { import: upload }) };
        const answer = await json<{ readonly id?: string; readonly import?: string }>(
          `/conversations/import?${new URLSearchParams(query)}`,
          { method: "POST", headers: { "content-type": "application/x-ndjson" }, body },
        );
        if (answer.id !== undefined) return answer.id;
        upload = answer.import;
      }
      throw new Error("The import did not end.");
    },
  };
}

export type Api = ReturnType<typeof apiOf>;
