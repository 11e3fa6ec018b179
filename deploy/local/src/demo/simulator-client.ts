import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const REQUEST_MS = 10_000

const troubles = z.looseObject({ refused: z.record(z.string(), z.int()), dropped: z.int() })

/** What the simulator refused (by code) and took without an answer. */
export type Troubles = z.output<typeof troubles>

/** Tells the simulator how a phone number's sends go; an empty behaviour is a good one. */
export async function misbehave(options: {
  simulatorUrl: string
  phoneNumberId: string
  behaviour: object
}): Promise<void> {
  const { simulatorUrl, phoneNumberId, behaviour } = options
  await tell(new URL('/simulator/behaviour', simulatorUrl), { phoneNumberId, ...behaviour })
}

/** Tells the simulator where the news of a phone number go. */
export async function registerWebhook(
  simulatorUrl: string,
  webhook: { phoneNumberId: string; url: string; appSecret: string },
): Promise<void> {
  await tell(new URL('/simulator/webhook', simulatorUrl), webhook)
}

/** The troubles that a phone number has had. */
export async function readTroubles(simulatorUrl: string, phoneNumberId: string): Promise<Troubles> {
  const url = new URL(`/simulator/summary?phoneNumberId=${phoneNumberId}`, simulatorUrl)
  const answer = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
  return troubles.parse(await answer.json())
}

async function tell(url: URL, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!answer.ok) throw new SetupError(`The simulator did not take it: ${await answer.text()}`)
  await answer.body?.cancel()
}
