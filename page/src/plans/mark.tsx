import { type Mark, MARK_WORDS } from "./call-state.ts";

const DRAWN: Readonly<Record<Mark, string>> = {
  waiting: "M7 1.75a5.25 5.25 0 1 0 .01 0z",
  running: "M7 1.75A5.25 5.25 0 0 1 12.25 7",
  done: "m2.5 7.5 3 3 6-6.5",
  failed: "m3 3 8 8M11 3l-8 8",
  skipped: "M2 7h6M6 4l3 3-3 3M11.5 3v8",
  proposed: "M3 2.5h8v9H3zM5 5.5h4M5 8.5h2.5",
  approved: "M4 2.75v8.5L11 7z",
  cancelled: "M3.3 3.3l7.4 7.4M7 1.75a5.25 5.25 0 1 0 .01 0z",
  asks: "M5 5.2a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M7 11v.1",
};

/** Icon of a state, 14 units wide. */
export function MarkSign({ mark }: { readonly mark: Mark }) {
  return (
    <svg
      className={`plans-sign plans-${mark}`}
      width="14"
      height="14"
      viewBox="0 0 14 14"
      aria-hidden="true"
    >
      <path className={mark === "running" ? "plans-spin" : undefined} d={DRAWN[mark]} />
    </svg>
  );
}

/** Icon and word of a state, so that colour is not the only signal. */
export function MarkLabel({ mark }: { readonly mark: Mark }) {
  return (
    <span className={`plans-mark plans-${mark}`}>
      <MarkSign mark={mark} />
      {MARK_WORDS[mark]}
    </span>
  );
}
