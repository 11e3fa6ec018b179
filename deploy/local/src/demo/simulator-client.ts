import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const REQUEST_MS = 10_000

const troubles = z.looseObject({ refused: z.record(z.string(), z.int()), dropped: z.int() })

/** What the simulator refused (by code) and accepted without a response. */
export type Troubles = z.output<typeof troubles>

/** Configures how the simulator handles a phone number's sends; with an empty behaviour it accepts them all. */
export async function misbehave(options: {
  simulatorUrl: string
  phoneNumberId: string
  behaviour: object
}): Promise<void> {
  const { simulatorUrl, phoneNumberId, behaviour } = options
  await post(new URL('/simulator/behaviour', simulatorUrl), { phoneNumberId, ...behaviour })
}

/** Configures where the simulator posts the statuses of a phone number. */
export async function registerWebhook(
  simulatorUrl: string,
  webhook: { phoneNumberId: string; url: string; appSecret: string },
): Promise<void> {
  await post(new URL('/simulator/webhook', simulatorUrl), webhook)
}

/** Has a person write to a phone number. */
export async function writeAsPerson(
  simulatorUrl: string,
  message: { phoneNumberId: string; from: string; name: string; text: string },
): Promise<void> {
  await post(new URL('/simulator/inbound', simulatorUrl), message)
}

/** The refused and dropped sends of a phone number. */
export async function readTroubles(simulatorUrl: string, phoneNumberId: string): Promise<Troubles> {
  const url = new URL(`/simulator/summary?phoneNumberId=${phoneNumberId}`, simulatorUrl)
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
  return troubles.parse(await response.json())
}

async function post(url: URL, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!response.ok) throw new SetupError(`The simulator refused its configuration: ${await response.text()}`)
  await response.body?.cancel()
}
