import { namedSecret } from '@parley/local/testing/service-under-test'
import type { TurnAgent } from '@parley/shared/agents'
import type { ReplicaQuery } from '@parley/shared/config-replica/replica-store'
import type { ResourceName } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { createSecretBox, sealSecrets, secretKeyring } from '@parley/shared/sealed-value'
import type { Agent, AgentAction } from '../src/agents/agent.ts'
import { AGENT_KINDS } from '../src/agents/kinds/kinds.ts'
import type { Toolbox, ToolOutcome } from '../src/agents/toolbox.ts'
import { createOpenToolbox } from '../src/agents/tools/open-toolbox.ts'
import type { ReportMissing } from '../src/agents/tools/report-missing.ts'
import type { ReportServer } from '../src/agents/tools/report-server.ts'
import { createToolImages } from '../src/agents/tools/tool-images.ts'
import type { Channel } from '../src/channels/channels.ts'
import { createHttpClient } from '../src/channels/http/http-client.ts'
import type { ReadThreadFile } from '../src/channels/media/thread-files.ts'
import { createSigner } from '../src/channels/signing.ts'
import { config } from '../src/config.ts'
import type { AccessTokens } from '../src/functions/access-tokens.ts'
import { createReadOperationCall } from '../src/functions/operation-call.ts'
import { createSpecReader } from '../src/functions/spec-reader.ts'

const WORKSPACE = 1
export const secrets = createSecretBox(secretKeyring.parse(namedSecret('k')))

/** Documents as replicas have them: their secrets sealed. */
export function documentsOf(given: Partial<Record<ResourceName, Record<number, JsonObject>>>) {
  return {
    given,
    find: async (query: ReplicaQuery) => {
      const all = Object.entries(given[query.resource] ?? {}).map(([id, fields]) =>
        sealSecrets({ _id: Number(id), version: 1, ...fields }, secrets, WORKSPACE),
      )
      if ('id' in query) return all.filter(({ _id }) => _id === query.id)
      if (!('owner' in query)) return []
      const { owner, ownerType } = query
      return all.filter((one: JsonObject) => one.owner === owner && one.ownerType === ownerType)
    },
  }
}

export const channel = {
  _id: 1,
  workspace: WORKSPACE,
  hook: 'rpc',
  callback: 'rpc',
  handlerUrl: 'native:agents/functionCall',
  config: { assistantId: 1 },
} as const

const message = { extId: 'c', user: {}, thread: { extId: 'thread-1' }, answer: {} }

export function actionOf(fields: Partial<AgentAction> & { _id: number }): AgentAction {
  return {
    version: 1,
    name: 'Orders',
    description: '',
    specType: 'openapi3-yaml',
    moduleUrl: 'native:request',
    spec: '',
    configs: new Map(),
    ...fields,
  }
}

/** A config of an action, as an agent has it. */
export const credentials = (value: JsonObject) => new Map([['credentials', value]])

export const agentOf = (actions: AgentAction[], type: TurnAgent = 'functionCall'): Agent => ({
  workspace: WORKSPACE,
  kind: AGENT_KINDS[type],
  assistant: { _id: 1, name: 'Ana', description: '', backstory: '' },
  actions,
  configs: new Map(),
  workflows: [],
})

/** Where no credentials name an OAuth client. */
export const noTokens: AccessTokens = {
  filled: async (_action, given) => given,
  refused: () => {},
  consented: async () => {},
}

/** Toolboxes over real HTTP to loopback, with a configuration service that `post` stands for. */
export function startTools(
  options: {
    post?: (path: string, body: unknown) => Promise<unknown>
    listMs?: number
    tokens?: AccessTokens
    report?: ReportServer
    reportMissing?: ReportMissing
    readFile?: ReadThreadFile
  } = {},
) {
  const specs = createSpecReader()
  const toolImages = createToolImages()
  const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS.parse('127.0.0.0/8') })
  const post = options.post ?? (async () => undefined)
  const signer = createSigner('service key of this test')
  const open = createOpenToolbox({
    specs,
    readCall: createReadOperationCall({ specs, http, signer, ...defined({ readFile: options.readFile }) }),
    signer,
    configuration: { post },
    isFirstOfName: async () => true,
    fetch: globalThis.fetch,
    toolImages,
    report: options.report ?? (() => {}),
    reportMissing: options.reportMissing ?? (() => {}),
    tokens: options.tokens ?? noTokens,
    listMs: options.listMs ?? 20_000,
    listedForMs: 500,
  })
  return {
    toolImages,
    open: (agent: Agent, own: Partial<Channel> = {}, of: Partial<WebhookMessage> = {}): Promise<Toolbox> =>
      open({
        ...{ agent, channel: { ...channel, ...own }, messageId: 'm', thread: 'thread-1' },
        message: { ...message, ...of },
      }),
    close: async () => {
      http.close()
      await specs.close()
    },
  }
}

/** Opens a call and makes one attempt at it. */
export async function callTool(toolbox: Toolbox, tool: string, args: object): Promise<ToolOutcome> {
  const opened = await toolbox.open({ tool, args: JSON.stringify(args) })
  if (opened.kind !== 'call') throw new Error(`not a call: ${JSON.stringify(opened)}`)
  return opened.deliver('m:t0:0')
}
