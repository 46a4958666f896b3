import { ByrefError } from "../errors.ts";

/** What is not somebody's public server, of the registries of IANA; and what clouds keep for themselves. */
const NO_PUBLIC_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // behind a carrier's NAT
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // the host of an Azure machine
  "169.254.0.0/16", // link-local: metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocols
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/3", // multicast, reserved, broadcast
].map((text): readonly [number, number] => {
  const [address = "", bits = ""] = text.split("/");
  return [numberOf(address), 2 ** (32 - Number(bits))];
});

/** Names that mean a machine, or a network, by themselves. */
const NO_PUBLIC_NAME =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|arpa|svc|test|invalid|onion|metadata\.goog)$/;

const PORTS = new Set([80, 443]);

/**
 * The URL, if it is of a public server by http or https, as far as the URL alone tells. Throws
 * `address_not_allowed`. Notations need no list: the URL's parser has made one of them all (decimal, octal,
 * hex, short, percent-encoded, fullwidth), and what it cannot read is no URL.
 */
export function requirePublic(
  input: string | URL,
  { base, ports = [] }: { readonly base?: URL; readonly ports?: readonly number[] } = {},
): URL {
  // A copy: who made it may change it.
  const url = URL.parse(String(input), base?.href);
  if (url === null) throw notAllowed("It is no URL.");
  const isHttps = url.protocol === "https:";
  if (!isHttps && url.protocol !== "http:") throw notAllowed(`Its scheme is ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw notAllowed("It carries a name or password.");
  const port = url.port === "" ? undefined : Number(url.port);
  if (port !== undefined && !PORTS.has(port) && !ports.includes(port)) {
    throw notAllowed(`Its port is ${port}.`);
  }
  if (!isPublicHost(url.hostname)) throw notAllowed(`${url.hostname} is no public address.`);
  return url;
}

function notAllowed(why: string): ByrefError {
  return new ByrefError("address_not_allowed", `The address may not be fetched. ${why}`);
}

/** As a URL has it. */
function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPublicIpv6(hostname.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return isPublicIpv4(numberOf(hostname));
  const name = hostname.replace(/\.+$/, "");
  // One label is a machine of some network's own.
  return name.includes(".") && !NO_PUBLIC_NAME.test(name);
}

function isPublicIpv4(address: number): boolean {
  return !NO_PUBLIC_IPV4.some(([first, size]) => address >= first && address < first + size);
}

/**
 * Global unicast, and nothing in it that is for protocols or documentation, or that carries an IPv4 address
 * (6to4, Teredo). Mapped, compatible and NAT64 addresses are no global unicast.
 */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = firstGroups(address);
  if (first < 0x2000 || first > 0x3fff) return false;
  const isForProtocols = first === 0x2001 && (second < 0x0200 || second === 0x0db8);
  const isDocumentation = first === 0x3fff && second < 0x1000;
  return !isForProtocols && !isDocumentation && first !== 0x2002;
}

/** The first two; the URL's parser has written each in hex, and zeros as `::` where they are many. */
function firstGroups(address: string): readonly number[] {
  const [before = ""] = address.split("::");
  return before.split(":").map((group) => Number.parseInt(group, 16) || 0);
}

function numberOf(address: string): number {
  return address.split(".").reduce((number, byte) => number * 256 + Number(byte), 0);
}
