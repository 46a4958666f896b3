import { useState } from "react";
import type { PutOptions } from "../../../packages/client/src/client.ts";
import { IconButton } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { bytesInWords, codeOf, problemWords } from "../words.ts";
import { type Upload, uploadOf } from "./upload.ts";

/** A file being uploaded. */
interface Uploading {
  readonly id: number;
  readonly file: string;
  readonly stage: "busy" | "exists" | "saved" | "failed";
  readonly words: string;
  /** Present once the file has been read. */
  readonly upload?: Upload;
}

const SAVED_SHOWN_MS = 4_000;

let lastId = 0;

/** Saves files as variables. `onSaved` receives the name of each. */
export function useUploads(onSaved: (name: string) => void) {
  const [uploads, setUploads] = useState<readonly Uploading[]>([]);
  const { variables } = useConversation().session.conversation;
  const dismiss = (id: number) => setUploads((all) => all.filter((one) => one.id !== id));
  const tell = (id: number, change: Partial<Uploading>) =>
    setUploads((all) => all.map((one) => (one.id === id ? { ...one, ...change } : one)));
  const send = async (id: number, upload: Upload, options: PutOptions) => {
    const { name, body, ...type } = upload;
    tell(id, { stage: "busy", words: `Sending ${bytesInWords(body.size)}…`, upload });
    try {
      const info = await variables.put(name, body, { ...type, ...options });
      tell(id, { stage: "saved", words: `Saved as $${info.name}` });
      setTimeout(() => dismiss(id), SAVED_SHOWN_MS);
      onSaved(info.name);
    } catch (error) {
      if (codeOf(error) !== "precondition_failed") throw error;
      tell(id, { stage: "exists", words: `$${name} already exists.` });
    }
  };
  const attempt = (id: number, work: () => Promise<void>) =>
    work().catch((error: unknown) => tell(id, { stage: "failed", words: problemWords(error) }));
  return {
    uploads,
    add: (files: Iterable<File>) => {
      for (const file of files) {
        const id = ++lastId;
        setUploads((all) => [...all, { id, file: file.name, stage: "busy", words: "Reading…" }]);
        void attempt(id, async () => send(id, await uploadOf(file), { ifNoneMatch: "*" }));
      }
    },
    /** Decides about an existing name. */
    choose: ({ id, upload }: Uploading, choice: "replace" | "both") => {
      if (upload === undefined) return;
      void attempt(id, () => send(id, upload, choice === "both" ? { mode: "new" } : {}));
    },
    dismiss,
  };
}

export type Uploads = ReturnType<typeof useUploads>;

/** State of the files that were dropped or chosen. */
export function UploadList({ uploads, choose, dismiss }: Uploads) {
  return (
    <ul className="variables-uploads" aria-live="polite">
      {uploads.map((uploading) => {
        const { id, file, stage, words } = uploading;
        return (
          <li key={id} className={`variables-upload variables-${stage}`}>
            <span className="variables-file">{file}</span>
            <span className="variables-words">{words}</span>
            {stage === "exists" && (
              <span className="variables-choices">
                <button type="button" onClick={() => choose(uploading, "replace")}>
                  Replace it
                </button>
                <button type="button" onClick={() => choose(uploading, "both")}>
                  Keep both
                </button>
              </span>
            )}
            {stage === "busy" ? (
              <span className="variables-progress" aria-hidden="true" />
            ) : (
              <IconButton
                className="variables-action"
                icon="close"
                label={`Dismiss ${file}`}
                size={16}
                onClick={() => dismiss(id)}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}
