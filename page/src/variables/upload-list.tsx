import { Icon } from "../icon.tsx";
import type { Uploads } from "./use-uploads.ts";

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
            {stage === "exists" ? (
              <span className="variables-choices">
                <button type="button" onClick={() => choose(uploading, "replace")}>
                  Replace it
                </button>
                <button type="button" onClick={() => choose(uploading, "both")}>
                  Keep both
                </button>
              </span>
            ) : null}
            {stage === "busy" ? (
              <span className="variables-progress" aria-hidden="true" />
            ) : (
              <button
                type="button"
                className="variables-action"
                aria-label={`Dismiss ${file}`}
                onClick={() => dismiss(id)}
              >
                <Icon name="close" size={16} />
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
