import type { ReactNode } from "react";

/** Sixteen units wide, drawn in the colour of the text. */
function icon(children: ReactNode) {
  return (
    <svg
      className="variables-icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const icons = {
  pin: icon(<path d="M6 2.5h4M6.5 2.5v4L4.5 9h7l-2-2.5v-4M8 9v4.5" />),
  upload: icon(<path d="M8 10.5v-8M4.8 5.6 8 2.5l3.2 3.1M2.5 11v2.5h11V11" />),
  download: icon(<path d="M8 2.5v8M4.8 7.4 8 10.5l3.2-3.1M2.5 11v2.5h11V11" />),
  back: icon(<path d="M9.8 3.2 5 8l4.8 4.8" />),
  copy: icon(<path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />),
  done: icon(<path d="m3 8.5 3.2 3.2L13 4.8" />),
  edit: icon(<path d="M9.8 3.7 12.3 6.2 5.5 13H3v-2.5zM8.3 5.2l2.5 2.5" />),
  remove: icon(<path d="M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9M6.8 7v4M9.2 7v4" />),
  close: icon(<path d="m4 4 8 8M12 4l-8 8" />),
  settings: icon(<path d="M2.5 5h5M10.5 5h3M2.5 11h3M8.5 11h5M9 3.5v3M7 9.5v3" />),
  open: icon(<path d="m6 3.2 4.8 4.8L6 12.8" />),
  ascending: icon(<path d="M8 12.5v-9M4.8 6.6 8 3.5l3.2 3.1" />),
  descending: icon(<path d="M8 3.5v9M4.8 9.4 8 12.5l3.2-3.1" />),
};
