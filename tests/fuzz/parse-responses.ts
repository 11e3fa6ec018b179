export interface RawResponse {
  status: number
  headers: Headers
  text: string
}

interface Parsed {
  responses: RawResponse[]
  broken?: string
}

const HEAD = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]*\r\n)*)$/

/** The answers in what a server sent; `broken` when that is no HTTP or ends in the middle of one. */
export function parseResponses(data: Buffer, method: string): Parsed {
  const responses: RawResponse[] = []
  let rest = data
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    const head = end === -1 ? null : HEAD.exec(rest.subarray(0, end + 2).toString('latin1'))
    if (head === null) return { responses, broken: 'what came is no HTTP' }
    const status = Number(head[1])
    const headers = headersOf(head[2] ?? '')
    const after = rest.subarray(end + 4)
    // A request that was refused before its method was read has a body all the same.
    const bare = (method === 'HEAD' && after.length === 0) || status === 204 || status === 304 || status < 200
    const body = bare ? { bytes: Buffer.alloc(0), rest: after } : bodyOf(after, headers)
    if (body === undefined) return { responses, broken: 'the answer breaks off' }
    if (status >= 200) responses.push({ status, headers, text: body.bytes.toString('utf8') })
    rest = body.rest
  }
  return { responses }
}

function headersOf(lines: string): Headers {
  const headers = new Headers()
  for (const line of lines.split('\r\n').filter((each) => each !== '')) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return headers
}

interface Body {
  bytes: Buffer
  rest: Buffer
}

function bodyOf(data: Buffer, headers: Headers): Body | undefined {
  // An event stream breaks off whenever its reader has enough.
  if (headers.get('content-type')?.startsWith('text/event-stream'))
    return { bytes: data, rest: Buffer.alloc(0) }
  if (headers.get('transfer-encoding') === 'chunked') return chunked(data)
  const length = headers.get('content-length')
  if (length === null) return { bytes: data, rest: Buffer.alloc(0) }
  if (data.length < Number(length)) return undefined
  return { bytes: data.subarray(0, Number(length)), rest: data.subarray(Number(length)) }
}

function chunked(data: Buffer): Body | undefined {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const end = data.indexOf('\r\n', at)
    const size = end === -1 ? Number.NaN : Number.parseInt(data.subarray(at, end).toString('latin1'), 16)
    if (!Number.isInteger(size) || data.length < end + 2 + size + 2) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), rest: data.subarray(end + 4) }
    chunks.push(data.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
