import { defined } from '@parley/shared/defined'
import { whatsapp } from '@parley/shared/providers/whatsapp/whatsapp'
import { z } from 'zod'
import { SetupError } from '../setup-error.ts'

const REQUEST_MS = 10_000

const troubles = z.looseObject({
  refused: z.record(z.string(), z.int()),
  dropped: z.int(),
  webhook: z.record(z.string(), z.int()),
})

const written = z.looseObject({ id: z.string() })

/** Sends that the simulator refused (by code) or accepted without a response, and what it posted. */
export type Troubles = z.output<typeof troubles>

/** The provider that is simulated. */
export const SIMULATED = whatsapp

/** A behaviour: one in twenty sends fails; the response of one in fifty never comes. */
export const SOME_FAIL = {
  failures: [{ status: 500, code: 131000, share: 0.05 }],
  dropAnswers: [{ share: 0.02 }],
}

/** A behaviour: one in a hundred sends never arrives; the others are read. */
export const SOME_NEVER_ARRIVE = { undeliverable: [{ code: 131026, share: 0.01 }], reads: true }

/** A number of the simulator's, by which a channel sends and receives. */
export interface SimulatedNumber {
  simulatorUrl: string
  phoneNumberId: string
  /** With it the simulator signs what comes from the number. */
  appSecret: string
}

type Place = Pick<SimulatedNumber, 'simulatorUrl' | 'phoneNumberId'>

/** A number under an id of the caller's choice: the simulator has them all. */
export const simulatedNumber = (simulatorUrl: string, id: string): SimulatedNumber => ({
  simulatorUrl,
  phoneNumberId: id,
  appSecret: crypto.randomUUID(),
})

/** The `config` of a channel that sends by a number, and receives nothing. */
export const sendConfigOf = ({ simulatorUrl, phoneNumberId }: Place) => ({
  phoneNumberId,
  accessToken: 'demo',
  apiUrl: new URL('/v23.0', simulatorUrl).href,
})

/** The `config` of a channel that sends and receives by a number. */
export const configOf = (number: SimulatedNumber) => ({
  ...sendConfigOf(number),
  appSecret: number.appSecret,
  verifyToken: crypto.randomUUID(),
})

/** Configures how the simulator handles a number's sends; with an empty behaviour it accepts them all. */
export async function misbehave(options: Place & { behaviour: object }): Promise<void> {
  const { simulatorUrl, phoneNumberId, behaviour } = options
  await post(new URL('/simulator/behaviour', simulatorUrl), { phoneNumberId, ...behaviour })
}

/** Configures where the simulator posts the statuses of a number, and what people write to it. */
export async function registerWebhook(number: SimulatedNumber, url: string): Promise<void> {
  const { simulatorUrl, phoneNumberId, appSecret } = number
  await post(new URL('/simulator/webhook', simulatorUrl), { phoneNumberId, url, appSecret })
}

/** Has the provider come to say something of a template, of which the number's webhook hears. */
export async function setTemplateState(
  { simulatorUrl, phoneNumberId }: Place,
  state: { name: string; status?: string; category?: string; reason?: string },
): Promise<void> {
  await post(new URL('/simulator/template-state', simulatorUrl), { phoneNumberId, ...state })
}

/** A person by the number, or by the id where the number is not shown, or both. */
type Sender = { from: string } | { from?: string; userId: string; parentUserId?: string; username?: string }

/** Has a person write to a number, a text or a message of Meta's; resolves with its id. */
export async function writeAsPerson(
  { simulatorUrl, phoneNumberId }: Place,
  message: Sender & { name: string; groupId?: string } & ({ text: string } | { message: object }),
): Promise<string> {
  return written.parse(await post(new URL('/simulator/inbound', simulatorUrl), { phoneNumberId, ...message }))
    .id
}

/** Has the business write to somebody in its own app; resolves with the id of it. */
export async function writeInApp(
  { simulatorUrl, phoneNumberId }: Place,
  message: { to: string } & ({ text: string } | { message: object }),
): Promise<string> {
  return written.parse(await post(new URL('/simulator/echo', simulatorUrl), { phoneNumberId, ...message })).id
}

/** The refused and dropped sends of a number, or of all of them. */
export async function readTroubles({
  simulatorUrl,
  phoneNumberId,
}: Pick<Place, 'simulatorUrl'> & Partial<Place>): Promise<Troubles> {
  const query = new URLSearchParams(defined({ phoneNumberId }))
  const url = new URL(`/simulator/summary?${query}`, simulatorUrl)
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
  return troubles.parse(await response.json())
}

/** Where a page of a number's sends is read. */
export function sendsUrl(
  { simulatorUrl, phoneNumberId }: Place,
  { after, limit }: { after: number; limit: number },
): URL {
  const query = new URLSearchParams({ phoneNumberId, after: String(after), limit: String(limit) })
  return new URL(`/simulator/sends?${query}`, simulatorUrl)
}

async function post(url: URL, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!response.ok) throw new SetupError(`The simulator refused its configuration: ${await response.text()}`)
  return response.json()
}
