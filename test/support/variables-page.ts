import type { Locator, Page } from "playwright-core";
import { type Client, createClient } from "../../packages/client/src/client.ts";
import type { OpenOptions } from "./page-test.ts";

interface Opening extends OpenOptions {
  readonly open: (url: string, options?: OpenOptions) => Promise<Page>;
  readonly demo: { readonly url: string };
}

/** Opens a new conversation with one variable, `$first`, which no other test uses. */
export async function variablesPage({ open, demo, ...options }: Opening): Promise<{
  readonly page: Page;
  readonly id: string;
  readonly variables: ReturnType<Client["conversation"]>["variables"];
}> {
  const id = crypto.randomUUID();
  const { variables } = createClient(demo.url).conversation(id);
  await variables.put("first", 1);
  const page = await open(`${demo.url}/#/c/${id}`, options);
  await listed(page, "first").waitFor();
  return { page, id, variables };
}

/** Returns the control in the list that opens the variable. */
export function listed(page: Page, name: string): Locator {
  const exact = page.locator(".variables-name").filter({ hasText: new RegExp(`^\\$${name}$`) });
  return page.locator(".item-open").filter({ has: exact });
}

export const records = (
  count: number,
): readonly Readonly<{ id: number; name: string; size: number }>[] =>
  Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}`, size: (id * 7) % 1_000 }));

type Dropped = { readonly name: string; readonly text: string; readonly type?: string };

/** Simulates dropping the files on the page. */
export async function drop(page: Page, files: readonly Dropped[]): Promise<void> {
  const dataTransfer = await page.evaluateHandle<unknown>(
    `(() => {
      const carried = new DataTransfer();
      for (const { name, text, type } of ${JSON.stringify(files)})
        carried.items.add(new File([text], name, { type: type ?? "" }));
      return carried;
    })()`,
  );
  const panel = page.getByRole("region", { name: "Variables" });
  await panel.dispatchEvent("dragover", { dataTransfer });
  await page.getByText("Drop to save as a variable").waitFor();
  await panel.dispatchEvent("drop", { dataTransfer });
}
