import { type SecretPart, secretPartsOfUrl } from './secret-urls.ts'

const MAX_SERVERS = 100
const MAX_URL = 2_048
const MAX_LINES = 200_000
const SERVERS = /^([ \t]*)(?:- )?(["']?)servers\2[ \t]*:/
const URL_VALUE =
  /(?:^|[\s{,"'-])url["']?[ \t]*:[ \t]*["']?([a-z][a-z\d+.-]{0,39}:\/\/[^\s"'`<>,}\]]{1,2048})/gi
const BLOCK_INDICATOR = /[|>][-+\d]{0,2}$/

/**
 * The secret parts of the URLs under `servers` of an OpenAPI document, in YAML or JSON, 100 URLs at most. The text is
 * looked through line by line and never parsed; block texts, such as descriptions, are left out.
 */
export function secretPartsOfSpec(text: string): SecretPart[] {
  if (!text.includes('servers') || !/[@?#]/.test(text)) return []
  return isJson(text) ? partsOfJson(text) : partsOfYaml(text)
}

const isJson = (text: string): boolean => /^\s*\{\s*"/.test(text)

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

/** Whether what follows with more indentation is text. */
function beginsBlock(line: string): boolean {
  if (!/[|>]/.test(line)) return false
  const [content = ''] = line.split(' #', 1)
  const found = BLOCK_INDICATOR.exec(content.trimEnd())
  return found !== null && /[:-]$/.test(content.slice(0, found.index).trimEnd())
}

/** A list may begin where its key does. */
const isBeyond = (line: string, indent: number, servers: number): boolean =>
  indent < servers || (indent === servers && !'-]}'.includes(line[indent] ?? ''))

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
