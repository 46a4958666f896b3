import { useState } from "react";
import type { PutOptions } from "../../../packages/client/src/client.ts";
import type { Session } from "../session.ts";
import { codeOf, problemWords } from "./problem-words.ts";
import { type Upload, uploadOf } from "./upload.ts";
import { bytesInWords } from "../words.ts";

/** A file being uploaded. */
interface Uploading {
  readonly id: number;
  readonly file: string;
  readonly stage: "busy" | "exists" | "saved" | "failed";
  readonly words: string;
  /** Present once the file has been read. */
  readonly upload?: Upload;
}

/** Decision about an existing name. */
type Choice = "replace" | "both";

export interface Uploads {
  readonly uploads: readonly Uploading[];
  readonly add: (files: Iterable<File>) => void;
  readonly choose: (uploading: Uploading, choice: Choice) => void;
  readonly dismiss: (id: number) => void;
}

const KEPT_SHOWN_MS = 4_000;

let lastId = 0;

export function useUploads(session: Session, onSaved: (name: string) => void): Uploads {
  const [uploads, setUploads] = useState<readonly Uploading[]>([]);
  const { variables } = session.client.conversation(session.conversation);
  const dismiss = (id: number) => setUploads((all) => all.filter((one) => one.id !== id));
  const tell = (id: number, change: Partial<Uploading>) =>
    setUploads((all) => all.map((one) => (one.id === id ? { ...one, ...change } : one)));

  const send = async (id: number, upload: Upload, options: PutOptions) => {
    const { name, body, ...type } = upload;
    tell(id, { stage: "busy", words: `Sending ${bytesInWords(body.size)}…`, upload });
    try {
      const info = await variables.put(name, body, { ...type, ...options });
      tell(id, { stage: "saved", words: `Saved as $${info.name}` });
      setTimeout(() => dismiss(id), KEPT_SHOWN_MS);
      onSaved(info.name);
    } catch (error) {
      if (codeOf(error) === "precondition_failed") {
        return tell(id, { stage: "exists", words: `$${name} already exists.` });
      }
      tell(id, { stage: "failed", words: problemWords(error) });
    }
    return undefined;
  };

  const begin = async (file: File) => {
    const id = ++lastId;
    const begun = { id, file: file.name, stage: "busy", words: "Reading…" } as const;
    setUploads((all) => [...all, begun]);
    try {
      await send(id, await uploadOf(file), { ifNoneMatch: "*" });
    } catch (error) {
      tell(id, { stage: "failed", words: problemWords(error) });
    }
  };

  return {
    uploads,
    add: (files) => {
      for (const file of files) void begin(file);
    },
    choose: ({ id, upload }, choice) => {
      if (upload === undefined) return;
      void send(id, upload, choice === "both" ? { mode: "new" } : {});
    },
    dismiss,
  };
}
