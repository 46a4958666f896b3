/** The text of a file, as Vite imports it. */
declare module "*?raw" {
  const text: string;
  export default text;
}
