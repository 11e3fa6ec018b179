/** How much of a file has left the browser, from 0 to 1. */
export type OnProgress = (share: number) => void

/** As `fetch`, which does not say how much of a body has left. Rejects with `TypeError` without a response. */
export async function fetchWithProgress(
  request: Request,
  { signal, onProgress }: { signal: AbortSignal; onProgress: OnProgress },
): Promise<Response> {
  const body = await request.blob()
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest()
    sent.open(request.method, request.url)
    for (const [name, value] of request.headers) sent.setRequestHeader(name, value)
    sent.responseType = 'arraybuffer'
    sent.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
    sent.upload.onload = () => onProgress(1)
    sent.onload = () =>
      resolve(new Response(sent.response, { status: sent.status, headers: headersOf(sent) }))
    sent.onerror = () => reject(new TypeError('The connection broke off.'))
    sent.onabort = () => reject(signal.reason)
    signal.addEventListener('abort', () => sent.abort(), { once: true })
    sent.send(body)
  })
}

function headersOf(sent: XMLHttpRequest): Headers {
  const lines = sent.getAllResponseHeaders().trim().split('\r\n').filter(Boolean)
  return new Headers(
    lines.map((line): [string, string] => {
      const at = line.indexOf(':')
      return [line.slice(0, at), line.slice(at + 1).trim()]
    }),
  )
}
