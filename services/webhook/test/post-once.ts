import { request } from 'node:http'

/** Posts on a connection of its own: an idle one may be closed just when it is used again. */
export function postOnce(
  url: string,
  options: { headers: Record<string, string>; body: string | Buffer },
): Promise<{ status: number; headers: Headers; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false, headers: options.headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('error', reject)
      answer.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        const headers = new Headers()
        for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value))
        resolve({ status: answer.statusCode ?? 0, headers, text })
      })
    })
    sent.once('error', reject)
    sent.end(options.body)
  })
}
