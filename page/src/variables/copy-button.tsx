import { type ReactNode, useEffect, useState } from "react";
import { Icon } from "../icon.tsx";

interface CopyButtonProps {
  readonly text: string;
  readonly children?: ReactNode;
  readonly className?: string;
}

const SAID_MS = 1_600;

/** Copies a text to the clipboard, and shows that it was copied. */
export function CopyButton({ text, children, className = "variables-action" }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
  };
  return (
    <button
      type="button"
      className={className}
      onClick={() => void copy()}
      title={`Copy ${text}`}
      aria-label={isCopied ? "Copied" : `Copy ${text}`}
    >
      <Icon name={isCopied ? "check" : "copy"} size={16} />
      {children}
    </button>
  );
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard does not exist without TLS, and may be forbidden.
    copySelected(text);
  }
}

function copySelected(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
