/** As much of a file is looked at as the header may have, and the first rows. */
const BEGINNING_BYTES = 64 * 1024
const ROWS = 5
const UTF8_BOM_BYTES = 3
const SEPARATORS = [',', ';', '\t'] as const
const WORKBOOK = 'PK'
/** The line that spreadsheets write before the header, to name the separator of columns. */
const SAYS_SEPARATOR = /^"?sep=([,;\t])"?(?:\r\n|\r|\n)/i

export const PERSON_COLUMNS = [
  ...['phone', 'addresses', 'name', 'language', 'timeZone', 'tags'],
  ...['consent.marketing', 'consent.service', 'consentText'],
] as const

/** Headings, without accents and in small letters, in the languages of the console. */
const HEADINGS: Record<string, (typeof PERSON_COLUMNS)[number]> = {
  ...{ telefone: 'phone', telefono: 'phone', celular: 'phone', movil: 'phone' },
  ...{ mobile: 'phone', 'phone number': 'phone', numero: 'phone', number: 'phone' },
  ...{ address: 'addresses', enderecos: 'addresses', direcciones: 'addresses' },
  ...{
    nome: 'name',
    nombre: 'name',
    'full name': 'name',
    'nome completo': 'name',
    'nombre completo': 'name',
  },
  ...{ idioma: 'language', etiquetas: 'tags', 'fuso horario': 'timeZone', 'zona horaria': 'timeZone' },
  ...{ 'time zone': 'timeZone', consent: 'consent.marketing', consentimento: 'consent.marketing' },
  consentimiento: 'consent.marketing',
}

/** The beginning of a file as it is shown, and the file as the API takes it. */
export interface PeopleFile {
  name: string
  /** In UTF-8. */
  content: Blob
  /** The encoding that it was written in, where that is not UTF-8. */
  readAs?: 'UTF-16' | 'Windows-1252'
  format: 'csv' | 'ndjson'
  separator: string
  newline: string
  headings: string[]
  rows: string[][]
  /** Where in the content its first row begins, and on which line that is. */
  bodyAt: number
  line: number
}

/** Opens a file that somebody has chosen. Throws for a workbook, and where the file can't be read. */
export async function openPeopleFile(file: File): Promise<PeopleFile> {
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer())
  if (String.fromCharCode(...head).startsWith(WORKBOOK)) throw new Workbook()
  const { content, readAs } = await inUtf8(file, head)
  const isNdjson = /\.(?:ndjson|jsonl)$/i.test(file.name)
  const bytes = await content.slice(0, BEGINNING_BYTES).arrayBuffer()
  const beginning = isNdjson ? linesOf(bytes) : beginningOf(bytes)
  return {
    ...{ name: `${file.name} ${file.lastModified}`, content, ...(readAs && { readAs }) },
    ...{ format: isNdjson ? 'ndjson' : 'csv', ...beginning },
  }
}

/** It is no text, which only whoever made it can save it as. */
export class Workbook extends Error {}

async function inUtf8(file: Blob, head: Uint8Array): Promise<Pick<PeopleFile, 'content' | 'readAs'>> {
  const [first, second] = head
  const utf16 =
    first === 0xff && second === 0xfe
      ? 'utf-16le'
      : first === 0xfe && second === 0xff
        ? 'utf-16be'
        : undefined
  if (utf16 !== undefined) return { content: await decoded(file, utf16), readAs: 'UTF-16' }
  if (await isUtf8(file)) return { content: file }
  return { content: await decoded(file, 'windows-1252'), readAs: 'Windows-1252' }
}

async function isUtf8(file: Blob): Promise<boolean> {
  try {
    const text = file.stream().pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
    await text.pipeTo(new WritableStream())
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

const decoded = (file: Blob, encoding: string): Promise<Blob> =>
  new Response(
    file.stream().pipeThrough(new TextDecoderStream(encoding)).pipeThrough(new TextEncoderStream()),
  ).blob()

type Beginning = Pick<PeopleFile, 'separator' | 'newline' | 'headings' | 'rows' | 'bodyAt' | 'line'>

function linesOf(bytes: ArrayBuffer): Beginning {
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/).slice(0, ROWS)
  const rows = lines.filter((line) => line.trim() !== '').map((line) => [line])
  return { separator: '', newline: '\n', headings: [], rows, bodyAt: 0, line: 1 }
}

/** The header of CSV and the first rows, by the first bytes of it. */
function beginningOf(bytes: ArrayBuffer): Beginning {
  const all = new TextDecoder().decode(bytes)
  const bom = new Uint8Array(bytes)[0] === 0xef ? UTF8_BOM_BYTES : 0
  const said = SAYS_SEPARATOR.exec(all)
  const text = all.slice(said?.[0].length ?? 0)
  const separator = said?.[1] ?? separatorOf(text)
  const [header, ...rows] = rowsOf(text, separator, ROWS + 1)
  const before = all.slice(0, all.length - text.length + (header?.end ?? 0))
  return {
    ...{ separator, newline: /\r\n$|\r$|\n$/.exec(before)?.[0] ?? '\n' },
    headings: header?.cells.map((cell) => cell.trim()) ?? [],
    rows: rows.map(({ cells }) => cells),
    bodyAt: bom + new TextEncoder().encode(before).length,
    line: (before.match(/\r\n|\r|\n/g)?.length ?? 0) + 1,
  }
}

function separatorOf(text: string): string {
  const header = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1)[0] ?? ''
  const counts = SEPARATORS.map((one) => header.split(one).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

interface Row {
  cells: string[]
  /** Where the next one begins. */
  end: number
}

/** The first rows of CSV; line breaks and separators in quotes are part of a cell. */
function rowsOf(text: string, separator: string, most: number): Row[] {
  const rows: Row[] = []
  let cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (let at = 0; at <= text.length && rows.length < most; at++) {
    const char = text[at]
    if (char === '"') {
      if (isQuoted && text[at + 1] === '"') cell += text[++at]
      else isQuoted = !isQuoted
    } else if (char !== undefined && (isQuoted || ![separator, '\r', '\n'].includes(char))) cell += char
    else {
      cells.push(cell)
      cell = ''
      if (char === separator) continue
      const end = at + (char === '\r' && text[at + 1] === '\n' ? 2 : 1)
      if (cells.some((one) => one !== '')) rows.push({ cells, end: Math.min(end, text.length) })
      cells = []
      at = end - 1
    }
  }
  return rows
}

/** Guesses the meaning of each heading, and uses each meaning once; empty for columns that are left out. */
export function guessColumns(headings: readonly string[], attributes: readonly string[]): string[] {
  const known = new Map<string, string>(Object.entries(HEADINGS))
  for (const name of attributes) {
    known.set(plain(name), `attributes.${name}`)
    known.set(plain(`attributes.${name}`), `attributes.${name}`)
  }
  for (const name of PERSON_COLUMNS) known.set(plain(name), name)
  const guessed = headings.map((heading) => known.get(plain(heading)) ?? '')
  return guessed.map((column, at) => (guessed.indexOf(column) === at ? column : ''))
}

const plain = (text: string): string => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase().trim()

/** The file with what the API calls these columns as its header. */
export function withColumns(file: PeopleFile, columns: readonly string[]): Blob {
  if (file.format === 'ndjson') return file.content
  const header = columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(file.separator)
  return new Blob([header, file.newline, file.content.slice(file.bodyAt)])
}

/** Names an import: the same file, read in the same way, goes on where it broke off. */
export async function importKeyOf(
  { name, format }: Pick<PeopleFile, 'name' | 'format'>,
  { content, tags }: { content: Blob; tags: string },
): Promise<string> {
  const beginning = await content.slice(0, BEGINNING_BYTES).text()
  const text = JSON.stringify([name, format, content.size, tags, beginning])
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return `console-${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
