import { expect, test } from '@jest/globals'
import { namedSecret } from '@parley/local/testing/service-under-test'
import type { ReplicaQuery } from '@parley/shared/config-replica/replica-store'
import { createSecretBox, sealSecrets, secretKeyring } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { AGENT_KINDS } from '../../src/agents/kinds/kinds.ts'
import { createLoadAgent } from '../../src/agents/load-agent.ts'
import { createChannels, createOpenChannel } from '../../src/channels/channels.ts'
import { withErrorText } from '../../src/channels/http/error-text.ts'
import { createCredentialsOf, credentialsFor, headersFor } from '../../src/functions/credentials.ts'
import { createFindAction } from '../../src/functions/find-action.ts'
import { eventsOfChange } from '../../src/outgoing/consume-changes.ts'
import { createPostEvent } from '../../src/outgoing/post-event.ts'

const secrets = createSecretBox(secretKeyring.parse(namedSecret('k')))
const workspace = 1
const sealed = <T extends object>(document: T): T => sealSecrets(document, secrets, workspace)
const CANARY = 'in-the-clear'

const channel = {
  name: 'C',
  description: '',
  _id: 1,
  version: 1,
  extId: 'c',
  hook: 'rpc',
  callback: 'rpc',
  handlerUrl: `https://u:${CANARY}@h.example/p?k=${CANARY}`,
  config: { assistantId: 1, callbackUrl: `https://h.example/?k=${CANARY}`, headers: { 'X-Key': CANARY } },
}
const action = {
  _id: 1,
  version: 1,
  name: 'a',
  description: '',
  specType: 'openapi3-yaml',
  moduleUrl: `https://m.example/?k=${CANARY}`,
  spec: JSON.stringify({ servers: [{ url: `https://u:${CANARY}@s.example/` }] }),
}
const named = { _id: 1, name: '', description: '', backstory: '', actions: [1] }
const value = { headers: { Authorization: `Bearer ${CANARY}` }, scheme: CANARY }
const config = { _id: 1, version: 1, name: 'credentials', owner: 1, ownerType: 'action', value }
const model = {
  ...config,
  _id: 2,
  name: 'openai_CREDENTIALS',
  ownerType: 'assistant',
  value: { key: CANARY },
}

const documents = { channels: [channel], actions: [action], assistant: [named], configs: [config, model] }
/** Both as configuration seals them now, and as what was stored earlier. */
const replicaOf = (isSealed: boolean) => ({
  find: async (query: ReplicaQuery) => {
    const all = documents[query.resource as keyof typeof documents] as Record<string, unknown>[]
    const found = 'owner' in query ? all.filter((one) => one.ownerType === query.ownerType) : all
    return found.map((one) => (isSealed ? sealed(one) : one)) as never
  },
})

test.each([true, false])(
  'channels, actions and configs are opened wherever their secrets lie (sealed: %s)',
  async (isSealed) => {
    const replica = replicaOf(isSealed)
    if (isSealed)
      expect(JSON.stringify(await replica.find({ resource: 'configs' } as never))).not.toContain(CANARY)
    const found = await createChannels({ replica, openChannel: createOpenChannel(secrets) }).find(
      workspace,
      'c',
    )
    expect(found).toMatchObject({ handlerUrl: channel.handlerUrl, config: channel.config })

    const credentials = await createCredentialsOf({ replica, secrets })({ workspace, _id: 1 })
    expect(credentials?.value).toEqual(value)
    expect(headersFor(credentials?.value).headers).toEqual({ authorization: `Bearer ${CANARY}` })
    const scheme = { id: 'scheme', kind: 'key', name: 'x-a', place: 'header' } as const
    expect(credentialsFor([[scheme as never]], credentials?.value).headers).toEqual({ 'x-a': CANARY })

    const specs = { ask: async () => ({ kind: 'operations', ids: ['op'] }) as const }
    const call = await createFindAction({ replica, secrets, specs: specs as never })(found as never, 'op')
    expect(call).toMatchObject({ kind: 'found', action: { moduleUrl: action.moduleUrl, spec: action.spec } })

    const configuration = { get: async () => undefined }
    const load = createLoadAgent({
      ...{ replica, secrets, configuration: configuration as never },
      isFirstOfName: async () => true,
    })
    const loaded = await load({ channel: found as never, kind: AGENT_KINDS.functionCall, thread: 't' })
    expect(loaded).toMatchObject({ agent: { actions: [{ moduleUrl: action.moduleUrl, spec: action.spec }] } })
    if (loaded.kind === 'found') expect(loaded.agent.configs.get(model.name)).toEqual(model.value)
  },
)

test('an event is posted to the whole URL of its subscription', async () => {
  const url = `https://s.example/?k=${CANARY}`
  const posted: string[] = []
  const http = {
    post: async (call: { url: string }) => {
      posted.push(call.url)
      return { status: 200, headers: {}, body: '' }
    },
  }
  const post = createPostEvent({ http, secrets, now: Date.now })
  const to = { ...sealed({ url, signingSecret: `whsec_${CANARY}${CANARY}` }), workspace }
  expect(to.url).not.toContain(CANARY)
  const { attempt } = await post({ _id: 'd', payload: '{}' }, to as never, new AbortController().signal)
  expect([posted, attempt.outcome]).toEqual([[url], 'accepted'])
})

test('events of changes have no secret, wherever it lies, and whether it was sealed', () => {
  for (const [resource, [document]] of Object.entries(documents)) {
    const change = {
      resource,
      workspace,
      _id: 1,
      version: 1,
      operation: 'updated' as const,
      at: new Date().toISOString(),
    }
    const by = { _id: 1, username: 'a' }
    const [event] = eventsOfChange({ ...change, by, document: document as never })
    expect([resource, JSON.stringify(event).includes(CANARY)]).toEqual([resource, false])
  }
  const [, others] = eventsOfChange({
    ...{
      resource: 'subscriptions',
      workspace,
      _id: 1,
      version: 2,
      operation: 'updated',
      at: new Date().toISOString(),
    },
    ...{
      by: { _id: 0, username: 'runtime' },
      document: { active: false, url: `https://s.example/?${CANARY}` },
    },
  })
  expect(others?.data).toMatchObject({ subscription: { url: `https://s.example/?${MASK}` } })
})

test('what a called server says of its URL is shown without its user, its password and its query', () => {
  const url = `https://someuser:${CANARY}@h.example/p?another-secret`
  const failed = { kind: 'permanent', code: 'http_400', fault: 'channel', reason: '' } as const
  const body = `no someuser ${CANARY} at another-secret here`
  const { error } = withErrorText(failed, { body }, { url, headers: {} }) as { error?: string }
  expect(error).toBe('no […] […] at […] here')
})
