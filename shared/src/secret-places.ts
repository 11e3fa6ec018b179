import { areHeaders, isCredentialsName, isSecretKey, secretByName } from './secret-names.ts'
import { isWholeUrl, looksLikeKey, type SecretPart, secretPartsOfUrl } from './secret-urls.ts'

const MAX_SERVERS = 100
const MAX_URL = 2_048
const MAX_LINES = 200_000
const SERVERS = /^([ \t]*)(?:- )?(["']?)servers\2[ \t]*:/

const URL_VALUE = /(?:^|[\s{,"'-])url["']?[ \t]*:[ \t]*["']?([a-z][a-z\d+.-]*:\/\/[^\s"'`<>,}\]]+)/gi

const BLOCK_INDICATOR = /[|>][-+\d]{0,2}$/

const isJson = (text: string): boolean => /^\s*\{\s*"/.test(text)

/** A list may begin where its key does. */
const isBeyond = (line: string, indent: number, servers: number): boolean =>
  indent < servers || (indent === servers && !'-]}'.includes(line[indent] ?? ''))

/**
 * The secret part of a value, by where it lies:
 * `document` – a configuration document: what its fields say.
 * `settings`, `deeper` – free-form settings, at their top and below: what the names say, and parts of URLs.
 * `state` – what a conversation has: the settled names alone.
 * `url`, `spec` – a URL, an OpenAPI document: parts of the text.
 * `texts`, `scalars`, `all` – texts; texts and numbers; everything.
 */
export type Reach =
  | 'document'
  | 'settings'
  | 'deeper'
  | 'state'
  | 'url'
  | 'spec'
  | 'texts'
  | 'scalars'
  | 'all'

/**
 * Fields of documents, of whichever resource; of the others texts under a settled name are secret. (The `token` of a
 * subscription is the id of one.)
 */
const FIELDS = new Map<string, Reach>([
  ['config', 'settings'],
  ['context', 'state'],
  ['handlerUrl', 'url'],
  ['moduleUrl', 'url'],
  ['url', 'url'],
  ['spec', 'spec'],
  ['signingSecret', 'all'],
])

/** The reach of a member of an object, or of an item of an array, which has that of the array. */
export function reachOfMember(parent: object, key: string, reach: Reach): Reach {
  switch (reach) {
    case 'document':
      if (key === 'value') return reachOfValue(parent)
      return FIELDS.get(key) ?? (isSecretKey(key) ? 'texts' : 'document')
    case 'settings':
      return reachInSettings(parent, key) ?? (isNameOfUrl(key) ? 'url' : 'deeper')
    case 'deeper':
      return reachInSettings(parent, key) ?? 'deeper'
    case 'state':
      return isSecretKey(key) ? 'all' : 'state'
    case 'texts':
    case 'scalars':
      return secretByName(key) === 'all' ? 'all' : reach
    case 'all':
      return 'all'
    default:
      return 'deeper'
  }
}

function reachOfValue(parent: object): Reach {
  return isCredentialsName((parent as { name?: unknown }).name) ? 'all' : 'settings'
}

function reachInSettings(parent: object, key: string): Reach | undefined {
  if (areHeaders(key)) return 'all'
  return secretByName(key) ?? (key === 'value' && isNamedSecret(parent) ? 'scalars' : undefined)
}

/** A setting that is written as a name and a value. */
function isNamedSecret(parent: object): boolean {
  const { name, key } = parent as { name?: unknown; key?: unknown }
  return [name, key].some((one) => typeof one === 'string' && secretByName(one) !== undefined)
}

const isNameOfUrl = (key: string): boolean => /(?:ur[il]|endpoint)$/i.test(key)

/** True when a value that is neither object nor array is secret as a whole. */
export function isSecretLeaf(leaf: unknown, reach: Reach): boolean {
  if (reach === 'all') return true
  return typeof leaf === 'string'
    ? reach === 'texts' || reach === 'scalars'
    : reach === 'scalars' && typeof leaf === 'number'
}

/** The secret parts of a text that is not secret as a whole, in their sequence. */
export function secretPartsOf(text: string, reach: Reach): SecretPart[] {
  switch (reach) {
    case 'url':
      return secretPartsOfUrl(text)
    case 'settings':
    case 'deeper':
      return /[@?#]/.test(text) && isWholeUrl(text) ? secretPartsOfUrl(text, looksLikeKey) : []
    case 'spec':
      return secretPartsOfSpec(text)
    default:
      return []
  }
}

/**
 * The secret parts of the URLs under `servers` of an OpenAPI document, in YAML or JSON, 100 URLs at most. The text is
 * looked through line by line and never parsed; block texts, such as descriptions, are left out.
 */
function secretPartsOfSpec(text: string): SecretPart[] {
  if (!text.includes('servers') || !/[@?#]/.test(text)) return []
  return isJson(text) ? partsOfJson(text) : partsOfYaml(text)
}

function partsOfYaml(text: string): SecretPart[] {
  const parts: SecretPart[] = []
  let urls = 0
  let block: number | undefined
  let servers: number | undefined
  let from = 0
  for (let lines = 0; from < text.length && urls < MAX_SERVERS && lines < MAX_LINES; lines++) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end)
    const indent = line.search(/\S/)
    if (indent >= 0 && line[indent] !== '#') {
      if (block !== undefined && indent <= block) block = undefined
      if (block === undefined) {
        if (servers !== undefined && isBeyond(line, indent, servers)) servers = undefined
        const head = line.includes('servers') ? SERVERS.exec(line) : null
        if (head !== null) servers = indent
        for (const { at, url } of servers === undefined ? [] : urlsIn(line, head?.[0].length ?? 0)) {
          urls++
          parts.push(...partsAt(url, from + at))
        }
        if (beginsBlock(line)) block = indent
      }
    }
    from += line.length + 1
  }
  return parts
}

function urlsIn(line: string, from: number): { at: number; url: string }[] {
  if (!line.includes('url')) return []
  return [...line.matchAll(URL_VALUE)].flatMap(({ 0: whole, 1: url = '', index }) => {
    const at = index + whole.length - url.length
    return at < from ? [] : { at, url }
  })
}

/** True when what follows with more indentation is text. */
function beginsBlock(line: string): boolean {
  if (!/[|>]/.test(line)) return false
  const [content = ''] = line.split(' #', 1)
  const found = BLOCK_INDICATOR.exec(content.trimEnd())
  return found !== null && /[:-]$/.test(content.slice(0, found.index).trimEnd())
}

/** The strings and brackets of JSON, one after another: a colon after a string makes it a key. */
function partsOfJson(text: string): SecretPart[] {
  const parts: SecretPart[] = []
  let depth = 0
  let key = ''
  let servers: number | undefined
  let urls = 0
  for (let at = 0; at < text.length && urls < MAX_SERVERS; at++) {
    const character = text[at]
    if (character === '{' || character === '[') depth++
    if (character === '}' || character === ']') {
      depth--
      if (servers !== undefined && depth <= servers) servers = undefined
    }
    if (character !== '"') continue
    const end = endOfString(text, at)
    const string = text.slice(at + 1, end)
    if (/^\s{0,8}:/.test(text.slice(end + 1, end + 10))) {
      if (servers === undefined && string === 'servers') servers = depth
      key = string
    } else {
      if (servers !== undefined && depth > servers && key === 'url' && string.length <= MAX_URL) {
        urls++
        parts.push(...partsAt(string, at + 1))
      }
      key = ''
    }
    at = end
  }
  return parts
}

/** Where a string that begins at `start` has its closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return Math.min(at, text.length)
}

function partsAt(url: string, offset: number): SecretPart[] {
  return secretPartsOfUrl(url).map((part) => ({ ...part, from: part.from + offset, to: part.to + offset }))
}
