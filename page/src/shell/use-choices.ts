import { useState } from "react";
import type { Entry } from "../session.ts";
import type { Api } from "./api.ts";
import type { Choice } from "./menu.tsx";
import { importFile } from "./import-file.ts";
import { hear, newId } from "./use-route.ts";

interface ChoicesOptions {
  readonly entry: Entry;
  readonly api: Api;
  /** Id of the open conversation. */
  readonly current: string;
  readonly run: (work: () => Promise<unknown>) => void;
  readonly open: (id: string) => void;
  readonly change: () => void;
}

interface Question {
  readonly title: string;
  readonly text: string;
  readonly word: string;
  readonly onYes: () => void;
}

/** Actions on a whole conversation, and the confirmation before it is deleted. */
export function useChoices({ entry, api, current, run, open, change }: ChoicesOptions) {
  const [question, setQuestion] = useState<Question>();
  const remove = (id: string) =>
    run(async () => {
      setQuestion(undefined);
      await entry.client.conversation(id).delete();
      change();
      if (id === current) open(newId());
    });
  const fork = async (id: string) => {
    const copy = await api.fork(id);
    change();
    open(copy.id);
  };
  const rename = (id: string, title: string) =>
    run(async () => {
      await api.rename(id, title);
      change();
    });
  const importInto = (file: File) =>
    run(async () => {
      const imported = await importFile(file, { entry, api, id: newId() });
      hear(imported);
      change();
      open(imported);
    });
  const choicesOf = (id: string): readonly Choice[] => [
    { icon: "fork", word: "Fork", act: () => run(() => fork(id)) },
    { icon: "download", word: "Export", act: () => run(() => download(entry, id)) },
    {
      icon: "trash",
      word: "Delete",
      isDangerous: true,
      act: () =>
        setQuestion({
          title: "Delete this conversation?",
          text: "Its messages, variables, plans and files are deleted. This cannot be undone.",
          word: "Delete",
          onYes: () => remove(id),
        }),
    },
  ];
  return { choicesOf, rename, importInto, question, close: () => setQuestion(undefined) };
}

async function download({ link }: Entry, id: string): Promise<void> {
  const anchor = document.createElement("a");
  anchor.href = await link(`/conversations/${encodeURIComponent(id)}/export`);
  anchor.download = `${id}.ndjson`;
  anchor.click();
}
