import { expect, vi } from "vitest";

interface Lister<Tool> {
  listTools(): Promise<{ readonly tools: readonly Tool[] }>;
}

/** Returns the tools when these are among them: a gateway's list does not wait long for a server that starts. */
export function listedTools<Tool extends { readonly name: string }>(
  client: Lister<Tool>,
  names: readonly string[],
): Promise<readonly Tool[]> {
  return vi.waitFor(async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
    return tools;
  });
}
