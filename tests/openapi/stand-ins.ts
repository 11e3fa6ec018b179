import { createHmac, randomUUID } from 'node:crypto'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { agree, type ConsentServer } from '../../services/dispatcher/test/consent-server.ts'
import {
  type CampaignStateMade,
  draftOf,
  makeCampaign,
  makeTemplate,
  putAccountChannel,
} from './made-campaigns.ts'

/** Values in place of an example that only holds for one run: ids, secrets and signatures. */
interface StandIn {
  parameters?: Record<string, string>
  body?: unknown
}

export interface RunSoFar {
  /** Earlier responses of operations, by their ids. */
  responses: Map<string, { json: Parsed; headers: Headers }>
  /** A server that asks for consent. */
  consent: ConsentServer
  /** Calls as the admin; answers with the body. */
  call(method: string, path: string, body?: unknown): Promise<Parsed>
}

const VERIFY_TOKEN = 'a-token-of-ones-own'
const OGG = Buffer.from('OggS').toString('base64')
const APP_SECRET = 'the secret of an app'

const idFrom = (operation: string) => (run: RunSoFar) => ({
  parameters: { id: String(run.responses.get(operation)?.json._id) },
})

const messageId = (run: RunSoFar): string =>
  String(run.responses.get('postMessage')?.headers.get('x-message-id'))

/** Waits until the posted message is in a state. */
async function messageIn(run: RunSoFar, states: readonly string[]): Promise<StandIn> {
  const id = messageId(run)
  await eventually(async () => {
    const { state } = await run.call('GET', `/rest/messages/${id}`)
    return states.includes(state)
  })
  return { parameters: { id } }
}

async function testDelivery(run: RunSoFar): Promise<StandIn> {
  const { _id } = await run.call('POST', '/rest/subscriptions/1/test')
  return { parameters: { delivery: _id } }
}

const HANDSHAKE = `/api/hooks/whatsapp/acme/support-line?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${VERIFY_TOKEN}`

/** Meta’s webhook works once the channel has its secrets; intake learns of them in a moment. */
async function withMeta(run: RunSoFar): Promise<void> {
  await run.call('PATCH', '/rest/channels/1', {
    config: { verifyToken: VERIFY_TOKEN, appSecret: APP_SECRET },
  })
  await eventually(async () => (await run.call('GET', HANDSHAKE)) === '1')
}

/** A message with audio. */
async function withAudio(run: RunSoFar): Promise<StandIn> {
  const body = { extId: 'support-line', user: {}, thread: { extId: 'audio' }, answer: {}, audio: OGG }
  await run.call('POST', '/api/hooks/whatsapp', body)
  return eventually(async () => {
    const { data } = await run.call('GET', '/rest/messages?thread=audio')
    return data[0] && { parameters: { id: data[0]._id } }
  })
}

const CONSENTED = 77
const REDIRECT = { redirectUri: 'http://127.0.0.1:9/console/connected' }

/** An action whose server asks for consent. */
async function withConsent(run: RunSoFar): Promise<StandIn> {
  const moduleUrl = `${run.consent.url}/mcp`
  const action = { name: 'Orders', description: 'Orders', specType: 'mcp', spec: '', moduleUrl }
  await run.call('PUT', `/rest/actions/${CONSENTED}`, action)
  const value = { oauth: { grant: 'authorization_code' } }
  const credentials = { name: 'credentials', owner: CONSENTED, ownerType: 'action', value }
  await run.call('PUT', '/rest/configs/consent', credentials)
  return { parameters: { id: String(CONSENTED) } }
}

async function consented(run: RunSoFar): Promise<StandIn> {
  const standIn = await withConsent(run)
  const begun = await run.call('POST', `/rest/actions/${CONSENTED}/connect`, REDIRECT)
  const { state, code } = await agree(begun.authorizationUrl)
  return { ...standIn, body: { state, code } }
}

/** A thread of its own, which a message begins. */
async function newThread(run: RunSoFar, extId = 'support-line'): Promise<StandIn> {
  const id = `thread-${randomUUID()}`
  const body = { extId, user: {}, thread: { extId: id }, answer: { message: 'Hello' } }
  await run.call('POST', '/api/hooks/whatsapp', body)
  await eventually(async () => (await run.call('GET', `/rest/threads/${id}`)).extId === id)
  return { parameters: { id } }
}

const inNewThread = (run: RunSoFar): Promise<StandIn> => newThread(run)

/** A message that waits for its time. */
async function scheduled(run: RunSoFar): Promise<StandIn> {
  const thread = `scheduled-${randomUUID()}`
  const sendAt = new Date(Date.now() + 60 * 60 * 1_000).toISOString()
  const message = { extId: 'support-line', user: {}, thread: { extId: thread }, answer: { message: 'Hello' } }
  await run.call('POST', '/api/hooks/whatsapp', { ...message, sendAt })
  return eventually(async () => {
    const { data } = await run.call('GET', `/rest/messages?thread=${thread}`)
    return data[0] && { parameters: { id: data[0]._id } }
  })
}

async function newTemplate(run: RunSoFar, body: unknown): Promise<StandIn> {
  return { body: { ...(body as object), ...draftOf(await putAccountChannel(run.call)) } }
}

async function savedSegment(run: RunSoFar): Promise<StandIn> {
  await run.call('PUT', '/rest/segments/brazil', { name: 'Brazil', filter: {} })
  return {}
}

const madeTemplate = async (run: RunSoFar): Promise<StandIn> => ({
  parameters: { id: await makeTemplate(run.call) },
})

const campaign =
  (state: CampaignStateMade = 'draft') =>
  async (run: RunSoFar): Promise<StandIn> => ({ parameters: { id: await makeCampaign(run.call, state) } })

export const standIns: Record<string, (run: RunSoFar, body: unknown) => StandIn | Promise<StandIn>> = {
  refresh: (run) => ({ body: { refreshToken: run.responses.get('login')?.json.refreshToken } }),
  acceptInvitation: (run, body) => ({
    body: { ...(body as object), token: run.responses.get('invite')?.json.token },
  }),
  makePasswordLink: idFrom('createUser'),
  resetPassword: async (run, body) => {
    const user = { name: 'Eva', email: 'eva@example.com', password: 'battery staple', role: 'VIEWER' }
    const { _id } = await run.call('POST', '/rest/users', user)
    const { token } = await run.call('POST', `/rest/users/${_id}/password-link`)
    return { body: { ...(body as object), token } }
  },
  withdrawInvitation: async (run) => {
    const { _id } = await run.call('POST', '/rest/invitations', { email: 'dora@example.com', role: 'VIEWER' })
    return { parameters: { id: String(_id) } }
  },
  endOwnSessions: () => ({ body: {} }),
  discoverTools: ({ consent }) => ({ body: { url: `${consent.url}/mcp` } }),
  connectAction: withConsent,
  actionConnected: consented,
  deleteApiToken: idFrom('createApiToken'),
  deleteUser: idFrom('createUser'),
  readTeam: idFrom('createTeam'),
  changeTeam: idFrom('createTeam'),
  deleteTeam: idFrom('createTeam'),
  putRole: idFrom('createRole'),
  patchRole: idFrom('createRole'),
  deleteRole: idFrom('createRole'),
  readMessage: (run) => messageIn(run, ['dead', 'unrouted']),
  readAudio: withAudio,
  readMedia: withAudio,
  replayMessage: (run) => messageIn(run, ['dead', 'unrouted']),
  cancelMessage: scheduled,
  postTemplate: newTemplate,
  readTemplate: madeTemplate,
  putTemplate: madeTemplate,
  deleteTemplate: madeTemplate,
  previewTemplate: madeTemplate,
  readImport: idFrom('postImport'),
  listImportErrors: idFrom('postImport'),
  cancelImport: idFrom('postImport'),
  readSegment: savedSegment,
  readSegmentHistory: savedSegment,
  readTemplateHistory: madeTemplate,
  readCampaignHistory: campaign(),
  readCampaign: campaign(),
  listCampaignRecipients: campaign(),
  exportCampaign: campaign(),
  readCampaignResults: campaign(),
  patchCampaign: campaign(),
  deleteCampaign: campaign(),
  scheduleCampaign: campaign(),
  unscheduleCampaign: campaign('scheduled'),
  pauseCampaign: campaign('running'),
  resumeCampaign: campaign('paused'),
  cancelCampaign: campaign('scheduled'),
  estimateCampaign: campaign(),
  previewCampaign: campaign(),
  testCampaign: campaign(),
  readDelivery: testDelivery,
  replayDelivery: testDelivery,
  readThread: inNewThread,
  changeThread: inNewThread,
  eraseThread: inNewThread,
  readConversation: inNewThread,
  replyInThread: inNewThread,
  showTyping: inNewThread,
  showPresence: inNewThread,
  uploadFile: async (run) => {
    await putAccountChannel(run.call)
    return newThread(run, 'with-account')
  },
  listThreadNotes: inNewThread,
  addThreadNote: inNewThread,
  deleteThreadNote: async (run) => {
    const { parameters } = await newThread(run)
    const { _id: note } = await run.call('POST', `/rest/threads/${parameters?.id}/notes`, { text: 'noted' })
    return { parameters: { ...parameters, note } }
  },
  verifyWebhook: async (run) => {
    await withMeta(run)
    return { parameters: { 'hub.verify_token': VERIFY_TOKEN } }
  },
  receiveFromMeta: async (run, body) => {
    await withMeta(run)
    const signature = createHmac('sha256', APP_SECRET).update(JSON.stringify(body)).digest('hex')
    return { parameters: { 'X-Hub-Signature-256': `sha256=${signature}` } }
  },
}
