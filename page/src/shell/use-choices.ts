import { useState } from "react";
import type { Entry } from "../session.ts";
import type { Api } from "./api.ts";
import type { Choice } from "./menu.tsx";
import { newId } from "./use-route.ts";

export interface ChoicesOptions {
  readonly entry: Entry;
  readonly api: Api;
  /** Of the conversation. */
  readonly id: string;
  readonly isNew: boolean;
  readonly leave: (() => void) | undefined;
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

/** What can be done with a conversation as a whole, and the question that comes before the worst of it. */
export function useChoices(options: ChoicesOptions) {
  const { entry, api, id, isNew, leave, run, open, change } = options;
  const [question, setQuestion] = useState<Question>();
  const remove = () =>
    run(async () => {
      setQuestion(undefined);
      await entry.client.conversation(id).delete();
      change();
      open(newId());
    });
  const choices: readonly Choice[] = [
    {
      icon: "fork",
      word: "Fork",
      isOff: isNew,
      act: () =>
        run(async () => {
          const fork = await api.fork(id);
          change();
          open(fork.id);
        }),
    },
    {
      icon: "download",
      word: "Export",
      isOff: isNew,
      act: () => run(() => download(entry, id)),
    },
    {
      icon: "trash",
      word: "Delete",
      isOff: isNew,
      isDangerous: true,
      act: () =>
        setQuestion({
          title: "Delete this conversation?",
          text: "Its messages, variables, plans and files are deleted. This cannot be undone.",
          word: "Delete",
          onYes: remove,
        }),
    },
    ...(leave === undefined ? [] : [{ icon: "close", word: "Sign out", act: leave } as const]),
  ];
  return { choices, question, close: () => setQuestion(undefined) };
}

async function download({ link }: Entry, id: string): Promise<void> {
  const anchor = document.createElement("a");
  anchor.href = await link(`/conversations/${encodeURIComponent(id)}/export`);
  anchor.download = `${id}.ndjson`;
  anchor.click();
}
