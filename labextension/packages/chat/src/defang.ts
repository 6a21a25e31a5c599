// Finds indicators in prose, word by word, and defangs them so that nothing turns them into links; refangs them for the
// clipboard. The same rules as in Python, with the same test cases. Sources: IANA's root zone database (country codes,
// and the generic domains most common in reports), RFC 3986, RFC 4291.

const WEB = /(?:(h)tt|(f)t)(ps?)(?=:[/\\])/gi;
const WEB_ANYWHERE = /htt(ps?)(?=:)|ft(ps?)(?=:)/gi;
const ANY_SCHEME = /(?<!hxxp)(?<!hxxps)(?<!fxp)(?<!fxps)(?<=[A-Za-z0-9]):\/\//gi;
const WWW = /(www)\./gi;
const AT_ANYWHERE = /(?<=[^\s[(@])@(?=[^\s\])@])/g;
const ADDRESS = /([a-z][a-z0-9+.-]{0,30})(:\/{2,}|:\\\\)([^/?#\s]*)/gi;
const SAFE_SCHEME = /(?:hxxp|fxp)s?$/i;
const RUNS_CODE = /^(?:javascript|vbscript|data|file|blob|mailto|tel|about|view-source|xmpp):/i;
const DEFANGED = /\[(?:\.|@|:|:\/\/|dot|at)\]|\((?:dot|\.)\)|\bhxxps?\b|\bfxps?:\/\//i;
const MAIL = /[^\s@<>"'(),;]+@[^\s@<>"'(),;]*[\p{L}\p{N}][^\s@<>"'(),;]*/gu;
const IPV4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)/g;
const DOMAIN =
  /(?<![\p{L}\p{N}\p{M}])(?<![.@-])(?:[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}_-]{0,61}[\p{L}\p{N}\p{M}])?\.)+(xn--[a-z0-9-]{1,58}[a-z0-9]|\p{L}[\p{L}\p{M}-]{0,29}[\p{L}\p{M}])(?![\p{L}\p{N}]|[_-]+[\p{L}\p{N}])/giu;

/** Country codes, two letters each. */
const COUNTRIES =
  "acadaeafagaialamaoaqarasatauawaxazbabbbdbebfbgbhbibjbmbnbobrbsbtbwbybzcacccdcfcgchcickclcmcncocrcucvcwcxcyczdedjdkdmdodzeceeegereteseteufifjfkfmfofrgagdgegfggghgiglgmgngpgqgrgsgtgugwgyhkhmhnhrhthuidieiliminioiqirisitjejmjojpkekgkhkikmknkpkrkwkykzlalblclilklrlsltlulvlymamcmdmemgmhmkmlmmmnmompmqmrmsmtmumvmwmxmymznancnenfngninlnonpnrnunzompapepfpgphpkplpmpnprpsptpwpyqarerorsrurwsasbscsdsesgshsiskslsmsnsosrssstsusvsxsysztctdtftgthtjtktltmtntotrtttvtwtzuaugukusuyuzvavcvevgvivnvuwfwsyeytzazmzw";
const GENERIC = new Set(
  (
    "com net org edu gov mil int arpa info biz name pro jobs asia cat tel xxx app dev zip mov page xyz top site online " +
    "club shop store icu vip win bid loan men work click link live life fun space website tech host press cloud email " +
    "world today news blog buzz rest cam monster quest cyou cfd sbs lol support network digital center download stream " +
    "trade date review party science wang ltd group run one ink media chat video game bank security best onion " +
    "local localhost internal lan corp home test example invalid"
  ).split(" "),
);
/** Top-level domains that are also file extensions: defanged only with more evidence of a host. */
const FILE_ENDINGS = new Set("ai app cc java md mov pl ps pub py rs sh so zip".split(" "));

/** The defanged word, or null if it contains no indicator. Idempotent. */
export function defang(word: string): string | null {
  const found = defanged(word);
  const shown = found ?? word;
  const safe = inert(shown);
  return safe === shown ? found : bare(safe); // what was in between may have hidden a domain
}

/** Without what GFM and linkify link: `www.`, a scheme and `@`, in whatever company. */
function inert(text: string): string {
  return text
    .replace(WEB_ANYWHERE, safeWeb)
    .replace(ANY_SCHEME, "[:]//")
    .replace(WWW, "$1[.]")
    .replace(AT_ANYWHERE, "[@]");
}

function safeWeb(_: string, http: string | undefined, ftp: string | undefined): string {
  return http ? "hxx" + http.toLowerCase() : "fx" + (ftp ?? "").toLowerCase();
}

function defanged(word: string): string | null {
  const text = word.replace(
    WEB,
    (_, h: string | undefined, _f, rest: string) => (h ? "hxx" : "fx") + rest.toLowerCase(),
  );
  ADDRESS.lastIndex = 0;
  if (ADDRESS.test(text)) return bare(text.replace(ADDRESS, safeAddress));
  if (RUNS_CODE.test(text)) return bare(text.replace(MAIL, safeMail));
  const result = bare(text.includes("@") ? text.replace(MAIL, safeMail) : text);
  return result !== text || DEFANGED.test(text) || isIpv6(text) ? result : null;
}

/** The original of a defanged indicator. For the clipboard only, never for the page. */
export function refang(text: string): string {
  return text
    .replace(/\b(h)xx(ps?)\b|\b(f)x(ps?)(?=\[?:)/gi, (_, h: string | undefined, hs: string, f: string, fs: string) =>
      h ? `${h}tt${hs}` : `${f}t${fs}`,
    )
    .replace(/\[(\.|:\/\/|:|@)\]|\((\.)\)/g, (_, square: string | undefined, round: string) => square ?? round)
    .replace(/\[dot\]|\(dot\)/gi, ".")
    .replace(/\[at\]/gi, "@");
}

/** The URL that a browser would open if it is HTTP or HTTPS, otherwise null. */
export function webAddress(text: string): string | null {
  try {
    const url = new URL(refang(text));
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null; // not a URL
  }
}

function bare(text: string): string {
  return text.replace(IPV4, safeIpv4).replace(DOMAIN, safeDomain);
}

function safeAddress(_: string, scheme: string, mark: string, host: string): string {
  const colon = SAFE_SCHEME.test(scheme) ? mark : `[:]${mark.slice(1)}`;
  return scheme + colon + dots(host).replace(/(?<!\[)@(?!\])/g, "[@]");
}

function safeMail(mail: string): string {
  const at = mail.lastIndexOf("@");
  const user = mail.slice(0, at);
  return user.endsWith("[") ? mail : `${user}[@]${dots(mail.slice(at + 1))}`;
}

function safeIpv4(address: string): string {
  return address.split(".").every((part) => Number(part) <= 255) ? dots(address) : address;
}

function safeDomain(domain: string, ending: string): string {
  if (/^www\./i.test(domain)) return dots(domain); // GFM links it whatever comes after
  const last = ending.toLowerCase();
  return FILE_ENDINGS.has(last) || !isTopLevel(last) ? domain : dots(domain);
}

function dots(host: string): string {
  return host.replace(/(?<!\[)\.(?!\])/g, "[.]");
}

function isTopLevel(ending: string): boolean {
  if (ending.startsWith("xn--") || /[^a-z-]/.test(ending)) return true; // internationalized
  if (ending.length === 2) return isCountry(ending);
  return GENERIC.has(ending);
}

function isCountry(code: string): boolean {
  for (let at = COUNTRIES.indexOf(code); at >= 0; at = COUNTRIES.indexOf(code, at + 1)) if (at % 2 === 0) return true;
  return false;
}

function isIpv6(word: string): boolean {
  const core = (word.replace(/^[[(){},;."']+|[\])(){},;."']+$/g, "").split("/")[0] ?? "").split("%")[0] ?? "";
  return /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(core) && URL.canParse(`http://[${core}]/`);
}
