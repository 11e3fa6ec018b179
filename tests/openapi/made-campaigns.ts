import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildSimulator } from '@parley/local/simulator/app'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'

/** Calls as the admin; answers with the body. */
type Call = (method: string, path: string, body?: unknown) => Promise<Parsed>

/** A channel whose account has templates, at a simulator that is there until the process ends; its `_id`. */
export async function putAccountChannel(call: Call): Promise<number> {
  const { apiUrl } = await simulated()
  const config = { phoneNumberId: '7001', accessToken: 'token', businessAccountId: '102290129340398', apiUrl }
  const channel = { name: '', description: '', extId: 'with-account', hook: 'whatsapp', callback: 'whatsapp' }
  const { _id } = await call('PUT', '/rest/channels/7001', {
    ...{ ...channel, handlerUrl: 'native:agents/echo', config },
  })
  return Number(_id)
}

let simulator: Promise<{ apiUrl: string }> | undefined

function simulated(): Promise<{ apiUrl: string }> {
  simulator ??= buildSimulator({}).then(async ({ app }) => {
    const server = createServer(app).listen(0, '127.0.0.1').unref()
    await once(server, 'listening')
    return { apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v23.0` }
  })
  return simulator
}

/** Returns the channel and the name of a new template. */
export const draftOf = (channel: number) => ({ channel, name: `t_${randomUUID().replaceAll('-', '_')}` })

/** Has a template of its own made, and answers with its id. */
export async function makeTemplate(call: Call): Promise<string> {
  const example = { type: 'BODY', text: 'Hi {{1}}, it is {{2}}.', example: { body_text: [['a', 'b']] } }
  const draft = { language: 'en_US', category: 'UTILITY', components: [example] }
  const { _id } = await call('POST', '/rest/templates', {
    ...draftOf(await putAccountChannel(call)),
    ...draft,
  })
  return String(_id)
}

export type CampaignStateMade = 'draft' | 'scheduled' | 'running' | 'paused'

/** Has a campaign made that is in a state, and answers with its id. One that runs has somebody whose time is far off. */
export async function makeCampaign(call: Call, state: CampaignStateMade, name = 'made'): Promise<string> {
  const { _id } = await call('POST', '/rest/campaigns', {
    ...{ name, channel: await putAccountChannel(call), template: { name: 'unknown', language: 'en' } },
    ...{ audience: { everybody: true }, requiresConsent: false, messagesPerSecond: 0.001 },
    ...(state === 'scheduled' && { schedule: { at: new Date(Date.now() + DAY_MS).toISOString() } }),
  })
  const at = `/rest/campaigns/${_id}`
  if (state === 'draft') return String(_id)
  if (state !== 'scheduled')
    for (let person = 0; person < 3; person++)
      await call('POST', '/rest/people', { addresses: [`phone:4917${String(++people).padStart(9, '0')}`] })
  await call('POST', `${at}/schedule`)
  if (state === 'scheduled') return String(_id)
  await eventually(async () => (await call('GET', at)).state === 'running')
  if (state === 'paused') await call('POST', `${at}/pause`)
  return String(_id)
}

const DAY_MS = 24 * 60 * 60 * 1_000
let people = 0
