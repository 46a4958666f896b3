export { type PageFile, pageFiles, pageFolder } from "./page/page-files.ts";
