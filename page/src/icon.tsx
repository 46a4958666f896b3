/** Paths with a stroke width of 1.6 in a 20 × 20 box. */
const paths = {
  arrow: "M10 16V4m0 0L5 9m5-5 5 5",
  ascending: "M10 15.62v-11.25M6 8.25 10 4.38l4 3.88",
  back: "M12.25 4 6.25 10l6 6",
  check: "m4.5 10.5 3.5 3.5 7.5-8",
  chevron: "m6 8 4 4 4-4",
  close: "m5 5 10 10M15 5 5 15",
  copy: "M7 7V4h9v9h-3M4 7h9v9H4z",
  descending: "M10 4.38v11.25M6 11.75 10 15.62l4-3.88",
  dots: "M3.8 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0m5.5 0a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0m5.5 0a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0",
  download: "M10 3v9m0 0-4-4m4 4 4-4M4 16h12",
  edit: "M12.5 4.5l3 3L7 16H4v-3z",
  events: "M4 5h12M4 10h12M4 15h7",
  fork: "M6 4v12M6 10h5a3 3 0 0 0 3-3V4M4 4h4M12 4h4",
  keyboard:
    "M2.5 5.5h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M7 11.500h6",
  list: "M3.5 4.5h13v11h-13zM8 4.5v11",
  meter: "M4 16V9m4 7V4m4 12v-5m4 5V7",
  moon: "M16 11.5A6.5 6.5 0 0 1 8.5 4 6.5 6.5 0 1 0 16 11.5z",
  open: "m7.5 4 6 6L7.5 16",
  pin: "M7.5 3.12h5M8.12 3.12v5L5.62 11.25h8.75l-2.5-3.12v-5M10 11.25v5.62",
  plans: "M4 4h4v4H4zM12 12h4v4h-4zM8 6h3a3 3 0 0 1 3 3v3",
  plus: "M10 4v12M4 10h12",
  retry: "M15.5 10a5.5 5.5 0 1 1-1.6-3.900M15.5 3.500v3h-3",
  run: "M6.5 4v12l9-6z",
  settings:
    "M3.12 6.25h6.25M13.12 6.25h3.75M3.12 13.75h3.75M10.62 13.75h6.25M11.25 4.38v3.75M8.75 11.88v3.75",
  stop: "M6 6h8v8H6z",
  sun: "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2.500v1.500M10 16v1.500M2.5 10H4M16 10h1.500M4.7 4.700l1 1M14.3 14.300l1 1M4.7 15.300l1-1M14.3 5.700l1-1",
  talk: "M3.5 4.500h13v9h-8l-3.5 3v-3h-1.500z",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
  upload: "M10 12V3m0 0L6 7m4-4 4 4M4 16h12",
  variables: "M7 4c-3 0-1 6-4 6 3 0 1 6 4 6M13 4c3 0 1 6 4 6-3 0-1 6-4 6",
  wide: "M12 4h4v4M16 4l-5 5M8 16H4v-4M4 16l5-5",
  warning: "M10 3.5 17 16H3zM10 8v4M10 14h.01",
} as const;

export type IconName = keyof typeof paths;

/** A decorative icon, hidden from screen readers. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      className={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 20 20"
    >
      <path d={paths[name]} />
    </svg>
  );
}
