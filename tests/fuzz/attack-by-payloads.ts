import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { NUMBER } from '../whatsapp/corpus.ts'
import { countOf } from '../whatsapp/count-of.ts'
import { mutatedPayloads } from '../whatsapp/mutations.ts'
import { prepareWorkspace } from './workspaces.ts'

const SECRET = 'fuzzed secret'
const AT_ONCE = 4
/** Payloads that have more than is taken at once, or are no object, are refused whole. */
const REFUSED = new Set([413, 422])
const POSTS = 5
const MAX_SHOWN = 20

/** The results of a provider's webhook for payloads like the provider's. */
export interface PayloadsRun {
  sent: number
  /** Those whose counts did not add up to what the payload had, or that were not answered with 200, 413 or 422. */
  wrong: string[]
}

/** Posts payloads that are a little different from those of a provider, rightly signed, and adds up what is answered. */
export async function attackByPayloads(
  url: string,
  { count, seed }: { count: number; seed: number },
): Promise<PayloadsRun> {
  const owner = await prepareWorkspace(url)
  await owner.call('PUT', '/rest/channels/4', {
    ...{ name: 'Fuzzed', description: '', extId: 'fuzzed', hook: 'whatsapp', callback: 'rpc' },
    ...{ handlerUrl: 'native:agents/echo', config: { phoneNumberId: NUMBER, appSecret: SECRET } },
  })
  const address = `${url}/api/hooks/whatsapp/${owner.slug}/fuzzed`
  const payloads = fc.sample(mutatedPayloads, { numRuns: count, seed })
  const wrong: string[] = []
  let next = 0
  const worker = async () => {
    while (next < payloads.length) {
      const payload = payloads[next++]
      const found = await wrongOf(address, payload)
      if (found !== undefined && wrong.length < MAX_SHOWN) wrong.push(found)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return { sent: count, wrong }
}

async function wrongOf(address: string, payload: unknown): Promise<string | undefined> {
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  const post = () => fetch(address, { method: 'POST', headers, body })
  let response = await post()
  // A busy system asks for it again, and a provider does so.
  for (
    let again = 0;
    response.status === 503 && response.headers.has('retry-after') && again < POSTS;
    again++
  ) {
    await response.body?.cancel()
    response = await post()
  }
  const text = await response.text()
  if (REFUSED.has(response.status)) return undefined
  if (response.status !== 200) return `${response.status} for ${body}`
  const counts = Object.values(JSON.parse(text) as Record<string, number>)
  const sum = counts.reduce((total, one) => total + one, 0)
  return sum === countOf(payload) ? undefined : `${text} for ${body}`
}
